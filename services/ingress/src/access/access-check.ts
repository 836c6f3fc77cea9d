import type { CurrentConfig } from '@angelia/config';
import {
  type AnswerLinks,
  type CallbackLinks,
  CONFIG,
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
import { limitConnections } from '../http/connection-limit.ts';
import { Refusal } from '../http/refusal.ts';
import { ANSWER_LINKS, CALLBACK_LINKS, WAYS_IN } from '../tokens.ts';
import { unauthorized } from './admin-token.ts';
import { allowedMethods } from './allowed-methods.ts';
import { type Caller, setCaller, type WayIn } from './caller.ts';

/** A token or a code, as JSON, with room to spare. A stranger may send as much to sign in. */
const LARGEST_SIGN_IN_BYTES = 4_096;

/**
 * Decides who may send a body, before any byte of it is read (invariant strangers-cost-little): `/v1` needs a caller that one
 * of the ways in knows, links need their signature, a sign-in is small, and no other address takes a body. Webhooks are the
 * exception, because their signature is over the body (read-body.ts). The pattern of the matched route counts, not the
 * address as written: `/%761/sessions` is also `/v1`.
 */
@Injectable()
export class AccessCheck implements OnModuleInit {
  constructor(
    @Inject(HttpAdapterHost) private readonly adapter: HttpAdapterHost,
    @Inject(CONFIG) private readonly config: CurrentConfig,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(WAYS_IN) private readonly waysIn: readonly WayIn[],
    @Inject(ANSWER_LINKS) private readonly answerLinks: AnswerLinks | null,
    @Inject(CALLBACK_LINKS) private readonly callbackLinks: CallbackLinks | null,
  ) {}

  onModuleInit(): void {
    const fastify = this.adapter.httpAdapter.getInstance<FastifyInstance>();
    limitConnections(fastify.server, () => this.config.current.limits.max_connections);
    fastify.addHook('onRequest', (request, reply, done) => {
      // First and cheap, because nearly every request is a webhook.
      if (!request.is404 && request.url.startsWith('/webhooks/')) return done();
      const pattern = request.is404 ? null : (request.routeOptions.url ?? null);
      // Without a caller nobody learns what exists under /v1, nor what does not.
      if (!/^\/v1(\/|$)/.test(pattern ?? request.url)) {
        if (this.#passes(pattern, request, reply)) done();
        return;
      }
      reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
      this.#authenticate(request).then(
        (found) => {
          if (found instanceof Refusal) {
            answerError(reply, found);
            return;
          }
          setCaller(request, found);
          if (this.#passes(pattern, request, reply)) done();
        },
        (error: unknown) => {
          if (answerError(reply, error).unexpected)
            this.logger.error({ err: error }, 'could not authenticate a call of /v1');
        },
      );
    });
  }

  async #authenticate(request: FastifyRequest): Promise<Caller | Refusal> {
    for (const way of this.waysIn) {
      const found = await way.authenticate(request);
      if (found !== null) return found;
    }
    metrics.apiRefused.add({ reason: 'no_token' });
    return unauthorized();
  }

  /** False: the request has been answered. */
  #passes(pattern: string | null, request: FastifyRequest, reply: FastifyReply): boolean {
    if (pattern === null) {
      const allowed = allowedMethods(request.url);
      if (allowed.length > 0) reply.header('allow', allowed.join(', '));
      answerError(reply, allowed.length > 0 ? new MethodNotAllowedException() : new NotFoundException());
      return false;
    }
    const { token = '' } = (request.params ?? {}) as { token?: string };
    if (
      (pattern === '/answers/:token' || pattern === '/approvals/:token') &&
      !this.answerLinks?.read(token)
    ) {
      refuseAnswerLink(request, reply);
      return false;
    }
    if (pattern === '/callbacks/:token' && !this.callbackLinks?.read(token)) {
      answerError(reply, unknownCallbackLink());
      return false;
    }
    if (pattern === '/console/session' && !isSmall(request)) {
      answerError(
        reply,
        new Refusal(
          413,
          'sign_in_too_large',
          `a sign-in has at most ${LARGEST_SIGN_IN_BYTES} bytes and says so in content-length`,
        ),
      );
      return false;
    }
    return true;
  }
}

function isSmall({ headers }: FastifyRequest): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers;
  return encoding === undefined && (length === undefined || Number(length) <= LARGEST_SIGN_IN_BYTES);
}
