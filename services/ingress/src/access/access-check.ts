import type { CurrentConfig, Environment } from '@angelia/config';
import {
  type AnswerLinks,
  type CallbackLinks,
  CONFIG,
  ENVIRONMENT,
  LOGGER,
  type Logger,
  metrics,
} from '@angelia/service-kit';
import {
  Inject,
  Injectable,
  MethodNotAllowedException,
  NotFoundException,
  type OnModuleInit,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { refuseAnswerLink } from '../answers/answers.controller.ts';
import { unknownCallbackLink } from '../callbacks/callbacks.controller.ts';
import { answerError } from '../http/answer-error.ts';
import { clientNetworkOf } from '../http/client-network.ts';
import { limitConnections } from '../http/connection-limit.ts';
import { Refusal } from '../http/refusal.ts';
import { ANSWER_LINKS, CALLBACK_LINKS } from '../tokens.ts';
import { adminTokenOf, markAuthorized, tokenCheck } from './admin-token.guard.ts';
import { allowedMethods } from './allowed-methods.ts';
import { TokenGuesses } from './token-guesses.ts';

/** Logged at most once a minute, however many there are. */
const LOG_EVERY_MS = 60_000;
const RETRY_AFTER_SECONDS = 1;

/**
 * Decides who may send a body, before any byte of it is read (invariant strangers-cost-little): `/v1` needs its token,
 * links need their signature, and no other address takes a body. Webhooks are the exception, because their signature is
 * over the body (read-body.ts). The pattern of the matched route counts, not the address as written: `/%761/sessions` is
 * also `/v1`.
 */
@Injectable()
export class AccessCheck implements OnModuleInit {
  readonly #isAdminToken: (token: string) => boolean;
  readonly #guesses = new TokenGuesses();
  readonly #wrongTokens: { at: number; since: number } = { at: -Infinity, since: 0 };

  constructor(
    @Inject(HttpAdapterHost) private readonly adapter: HttpAdapterHost,
    @Inject(CONFIG) private readonly config: CurrentConfig,
    @Inject(ENVIRONMENT) environment: Environment,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(ANSWER_LINKS) private readonly answerLinks: AnswerLinks | null,
    @Inject(CALLBACK_LINKS) private readonly callbackLinks: CallbackLinks | null,
  ) {
    this.#isAdminToken = tokenCheck(environment.adminToken);
    if (environment.adminToken === undefined) {
      logger.warn({}, 'ANGELIA_ADMIN_TOKEN is not set; every request to /v1 is answered with 401');
    }
  }

  onModuleInit(): void {
    const fastify = this.adapter.httpAdapter.getInstance<FastifyInstance>();
    limitConnections(fastify.server, () => this.config.current.limits.max_connections);
    fastify.addHook('onRequest', (request, reply, done) => {
      if (this.#passes(request, reply)) done();
    });
  }

  /** False: the request has been answered. */
  #passes(request: FastifyRequest, reply: FastifyReply): boolean {
    // First and cheap, because nearly every request is a webhook.
    if (!request.is404 && request.url.startsWith('/webhooks/')) return true;
    const pattern = request.is404 ? null : (request.routeOptions.url ?? null);
    // Without the token nobody learns what exists under /v1, nor what does not.
    if (/^\/v1(\/|$)/.test(pattern ?? request.url)) {
      reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
      const refusal = this.#refusalOf(request);
      if (refusal !== null) {
        answerError(reply, refusal);
        return false;
      }
      markAuthorized(request);
    }
    if (pattern === null) {
      const allowed = allowedMethods(request.url);
      if (allowed.length > 0) reply.header('allow', allowed.join(', '));
      answerError(reply, allowed.length > 0 ? new MethodNotAllowedException() : new NotFoundException());
      return false;
    }
    const { token = '' } = (request.params ?? {}) as { token?: string };
    if (pattern === '/answers/:token' && !this.answerLinks?.read(token)) {
      refuseAnswerLink(request, reply);
      return false;
    }
    if (pattern === '/callbacks/:token' && !this.callbackLinks?.read(token)) {
      answerError(reply, unknownCallbackLink());
      return false;
    }
    return true;
  }

  #refusalOf(request: FastifyRequest): Refusal | null {
    const token = adminTokenOf(request.headers);
    if (token === null) {
      metrics.apiRefused.add({ reason: 'no_token' });
      return unauthorized();
    }
    const verdict = this.#guesses.judge(
      clientNetworkOf(request.ip),
      () => this.#isAdminToken(token),
      performance.now(),
    );
    if (verdict === 'right') return null;
    metrics.apiRefused.add({ reason: verdict === 'wrong' ? 'wrong_token' : 'slowed_down' });
    this.#logWrongToken(request.ip);
    return verdict === 'wrong' ? unauthorized() : tooManyGuesses();
  }

  #logWrongToken(address: string): void {
    this.#wrongTokens.since += 1;
    const now = performance.now();
    if (now - this.#wrongTokens.at < LOG_EVERY_MS) return;
    this.logger.warn(
      { address, since_last_told: this.#wrongTokens.since },
      'wrong admin token in a call of /v1 (logged at most once a minute; the address is the latest)',
    );
    this.#wrongTokens.at = now;
    this.#wrongTokens.since = 0;
  }
}

function unauthorized(): Refusal {
  return new Refusal(
    401,
    'unauthorized',
    '/v1 needs the header `Authorization: Bearer <ANGELIA_ADMIN_TOKEN>`',
  );
}

function tooManyGuesses(): Refusal {
  return new Refusal(
    429,
    'too_many_guesses',
    'too many calls with a wrong admin token came from this address: wait, then send the right one',
    RETRY_AFTER_SECONDS,
  );
}
