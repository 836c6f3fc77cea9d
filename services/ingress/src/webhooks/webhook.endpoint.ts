import type { Bus } from '@angelia/bus';
import type { RunningConfig } from '@angelia/config';
import type { Config } from '@angelia/contracts';
import { BUS, CONFIG, KEYED_SESSIONS, LOGGER, type Logger, metrics, SESSIONS } from '@angelia/service-kit';
import type { KeyedSessions, Sessions } from '@angelia/sessions';
import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { answerError } from '../http/answer-error.ts';
import { clientNetworkOf } from '../http/client-network.ts';
import type { IngressSettings } from '../settings.ts';
import { ROUTES } from '../tokens.ts';
import { handshakeHeaders } from './receive/abuse-protection.ts';
import { BodyBudget, type BodyLimits } from './receive/body-budget.ts';
import { refuseCrossSite } from './receive/cross-site.ts';
import { readBody } from './receive/read-body.ts';
import { openRoute, type WebhookRequest } from './receive/receive.ts';
import type { RouteTable } from './route.ts';
import { RouteWarnings } from './route-warnings.ts';
import { takeTestWebhook, takeWebhook, type WebhookAnswer, type WebhookContext } from './take-webhook.ts';
import { UnstartedWebhookRecorder } from './unstarted/unstarted-webhook-recorder.ts';

type WebhookPost = FastifyRequest<{ Params: { route: string } }>;

/**
 * `POST /webhooks/:route`. It is registered on Fastify itself and not on Nest's router: the body must stay the bytes that
 * were signed, and Nest's parsers are global. It also saves 1 to 4 of the 25 microseconds that an empty request costs.
 */
@Injectable()
export class WebhookEndpoint implements OnModuleInit, OnModuleDestroy {
  readonly #context: WebhookContext;
  /** Of bodies from senders that are not authenticated yet, also those of chats. */
  readonly budget: BodyBudget;

  constructor(
    @Inject(HttpAdapterHost) private readonly adapter: HttpAdapterHost,
    @Inject(ROUTES) routes: RouteTable,
    @Inject(SESSIONS) sessions: Sessions,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(UnstartedWebhookRecorder) private readonly unstarted: UnstartedWebhookRecorder,
    @Inject(KEYED_SESSIONS) keyedSessions: KeyedSessions,
    @Inject(BUS) bus: Pick<Bus, 'ping'>,
    @Inject(CONFIG) private readonly config: RunningConfig<IngressSettings>,
  ) {
    this.#context = { routes, sessions, keyedSessions, bus, logger, warnings: new RouteWarnings(logger) };
    this.budget = new BodyBudget(bodyLimits(config.current));
    config.onTaken((taken) => this.budget.setLimits(bodyLimits(taken)));
  }

  onModuleInit(): void {
    const fastify = this.adapter.httpAdapter.getInstance<FastifyInstance>();
    // A separate scope: its parser and its error handler apply to this route only.
    fastify.register(async (scope) => {
      scope.removeAllContentTypeParsers();
      // `*` covers every type. The usual one is named too, because Fastify caches the parser only of a named type.
      scope.addContentTypeParser(['application/json', '*'], (request, payload, done) =>
        readBody(
          payload,
          {
            budget: this.budget,
            network: () => clientNetworkOf(request.ip),
            limit: this.config.current.limits.max_body_bytes,
          },
          done,
        ),
      );
      scope.setErrorHandler((error, request, reply) => this.#refuse(error, request, reply));
      // Before the body is read, so that nobody sends a megabyte to a route that does not exist.
      const onRequest = ({ params, headers }: WebhookPost, _reply: FastifyReply, done: () => void): void => {
        const { access } = openRoute(this.#context.routes, params.route);
        if (access.kind === 'open') refuseCrossSite(headers);
        done();
      };
      scope.options<{ Params: { route: string } }>('/webhooks/:route', { onRequest }, (request, reply) => {
        const { rateLimit } = openRoute(this.#context.routes, request.params.route);
        reply.headers(handshakeHeaders(request.headers, rateLimit?.perMinute ?? null)).send();
      });
      scope.post<{ Params: { route: string } }>('/webhooks/:route', {
        onRequest,
        handler: async (request: WebhookPost, reply) => {
          const startedAt = performance.now();
          const { headers, body, params, url } = request;
          // A sender that does not read our answers keeps its requests in memory, and one connection can have many.
          request.body = undefined;
          const taken = await takeWebhook(this.#context, { routeName: params.route, headers, body, url });
          const recorded = { routeName: params.route, headers, source: request.ip };
          for (const answer of taken.answers) {
            if (answer.status === 202)
              metrics.webhooks.add({ route: params.route, outcome: startedAs(answer) });
            else this.unstarted.answered(recorded, answer);
          }
          for (const refusal of taken.refusals) this.unstarted.refused(recorded, refusal);
          metrics.webhookSeconds.observe({}, (performance.now() - startedAt) / 1000);
          reply.code(taken.status);
          return taken.status === 204 ? undefined : taken.body;
        },
      });
    });
  }

  /** A webhook that was sent by the API. @throws Refusal */
  takeTest(request: WebhookRequest, sentBy: string): Promise<WebhookAnswer> {
    return takeTestWebhook(this.#context, request, sentBy);
  }

  onModuleDestroy(): void {
    this.budget.close();
  }

  #refuse(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const answer = answerError(reply, error);
    const { route } = request.params as { route: string };
    this.unstarted.refused({ routeName: route, headers: request.headers, source: request.ip }, error);
    if (answer.unexpected) this.logger.error({ err: error, url: request.url }, 'webhook failed');
  }
}

function bodyLimits({ limits }: Config): BodyLimits {
  return {
    totalBytes: limits.max_unauthenticated_bytes,
    bytesPerNetwork: limits.max_unauthenticated_bytes_per_address,
    bytesPerSecond: limits.min_body_bytes_per_second,
  };
}

function startedAs({ body }: WebhookAnswer): 'accepted' | 'coalesced' {
  return body.status === 'coalesced' ? 'coalesced' : 'accepted';
}
