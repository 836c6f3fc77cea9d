import type { Environment } from '@angelia/config';
import type { Config } from '@angelia/contracts';
import {
  type AnswerLinks,
  type CallbackLinks,
  CONFIG,
  ENVIRONMENT,
  LOGGER,
  type Logger,
  metrics,
} from '@angelia/service-kit';
import { Inject, Injectable, NotFoundException, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { refuseAnswerLink } from '../answers/answers.controller.ts';
import { unknownCallbackLink } from '../callbacks/callbacks.controller.ts';
import { answerError } from '../http/answer-error.ts';
import { peerOf } from '../http/client-network.ts';
import { boundConnections } from '../http/connection-limit.ts';
import { Refusal } from '../http/refusal.ts';
import { ANSWER_LINKS, CALLBACK_LINKS } from '../tokens.ts';
import { adminTokenOf, letIn, tokenCheck } from './admin-token.guard.ts';
import { TokenGuesses } from './token-guesses.ts';

/** Told once a minute, however many there are. */
const TELL_EVERY_MS = 60_000;
const RETRY_AFTER_SECONDS = 1;

/**
 * Who may send a body, decided before a byte of it is read (strangers-cost-little): `/v1` by its token, the links by
 * their signature, no other address at all. What is left are webhooks, whose signature is over the body (read-body.ts).
 * Decided by the pattern of the route that was found, not by the address as it was written: `/%761/sessions` is `/v1`, too.
 */
@Injectable()
export class Entrance implements OnModuleInit {
  private readonly isAdminToken: (token: string) => boolean;
  private readonly guesses = new TokenGuesses();
  private readonly told: { at: number; since: number } = { at: -Infinity, since: 0 };

  constructor(
    @Inject(HttpAdapterHost) private readonly adapter: HttpAdapterHost,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(ENVIRONMENT) environment: Environment,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(ANSWER_LINKS) private readonly answerLinks: AnswerLinks | null,
    @Inject(CALLBACK_LINKS) private readonly callbackLinks: CallbackLinks | null,
  ) {
    this.isAdminToken = tokenCheck(environment.adminToken);
    if (environment.adminToken === undefined) {
      logger.warn({}, 'ANGELIA_ADMIN_TOKEN is not set: every request to /v1 will be answered with 401');
    }
  }

  onModuleInit(): void {
    const fastify = this.adapter.httpAdapter.getInstance<FastifyInstance>();
    boundConnections(fastify.server, this.config.limits.max_connections);
    fastify.addHook('onRequest', (request, reply, done) => {
      if (this.passes(request, reply)) done();
    });
  }

  /** False: it has been answered. */
  private passes(request: FastifyRequest, reply: FastifyReply): boolean {
    // First and cheaply: nearly every request is one, and each of them comes by here.
    if (!request.is404 && request.url.startsWith('/webhooks/')) return true;
    const pattern = request.is404 ? null : (request.routeOptions.url ?? null);
    // What there is under /v1 is told to nobody without the token, and so is what there is not.
    if (/^\/v1(\/|$)/.test(pattern ?? request.url)) {
      reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
      const refusal = this.refusalOf(request);
      if (refusal !== null) {
        answerError(reply, refusal);
        return false;
      }
      letIn(request);
    }
    if (pattern === null) {
      answerError(reply, new NotFoundException());
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

  private refusalOf(request: FastifyRequest): Refusal | null {
    const token = adminTokenOf(request.headers);
    if (token === null) {
      metrics.apiRefused.add({ reason: 'no_token' });
      return tokenWanted();
    }
    const verdict = this.guesses.judge(peerOf(request.ip), () => this.isAdminToken(token), performance.now());
    if (verdict === 'right') return null;
    metrics.apiRefused.add({ reason: verdict === 'wrong' ? 'wrong_token' : 'slowed_down' });
    this.tell(request.ip);
    return verdict === 'wrong' ? tokenWanted() : tooManyGuesses();
  }

  private tell(address: string): void {
    this.told.since += 1;
    const now = performance.now();
    if (now - this.told.at < TELL_EVERY_MS) return;
    this.logger.warn(
      { address, since_last_told: this.told.since },
      'a call of /v1 had a wrong admin token (told at most once a minute; the address is of the latest)',
    );
    this.told.at = now;
    this.told.since = 0;
  }
}

function tokenWanted(): Refusal {
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
    'too many calls with a wrong admin token came from this address: wait, and send the right one',
    RETRY_AFTER_SECONDS,
  );
}
