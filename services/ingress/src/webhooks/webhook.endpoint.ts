import type { Bus } from '@angelia/bus';
import { type Config, cancelSubject } from '@angelia/contracts';
import { BUS, CONFIG, KEYED_SESSIONS, LOGGER, type Logger, metrics, SESSIONS } from '@angelia/service-kit';
import type { KeyedSessions, Sessions } from '@angelia/sessions';
import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { answerError } from '../http/answer-error.ts';
import { peerOf } from '../http/client-network.ts';
import { ROUTES } from '../tokens.ts';
import type { JoinDeps } from './accept/join-session.ts';
import type { RouteTable } from './compile-route.ts';
import { BodyBudget } from './receive/body-budget.ts';
import { refuseCrossSite } from './receive/cross-site.ts';
import { readBody } from './receive/read-body.ts';
import { openRoute } from './receive/receive.ts';
import { takeWebhook, type WebhookAnswer } from './take-webhook.ts';
import { UnstartedWebhooks } from './unstarted/unstarted-webhook-recorder.ts';

const KEYLESS =
  'a payload lacks a part of the key in `session_key` or `coalesce`: such webhooks get a session of their own';

type WebhookPost = FastifyRequest<{ Params: { route: string } }>;

/**
 * `POST /webhooks/:route`, put on Fastify itself and not on Nest's router: the body must stay the bytes that were
 * signed, and Nest's parsers are global. It also saves 1 to 4 of some 25 microseconds that an empty request costs.
 */
@Injectable()
export class WebhookRoute implements OnModuleInit, OnModuleDestroy {
  private readonly warned = new Set<string>();
  private readonly joinDeps: JoinDeps;
  private readonly budget: BodyBudget;
  private readonly maxBodyBytes: number;

  constructor(
    @Inject(HttpAdapterHost) private readonly adapter: HttpAdapterHost,
    @Inject(ROUTES) private readonly routes: RouteTable,
    @Inject(SESSIONS) private readonly sessions: Sessions,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(UnstartedWebhooks) private readonly unstarted: UnstartedWebhooks,
    @Inject(KEYED_SESSIONS) keyed: KeyedSessions,
    @Inject(BUS) bus: Pick<Bus, 'ping'>,
    @Inject(CONFIG) { limits }: Config,
  ) {
    this.maxBodyBytes = limits.max_body_bytes;
    this.budget = new BodyBudget({
      totalBytes: limits.max_unauthenticated_bytes,
      bytesPerPeer: limits.max_unauthenticated_bytes_per_address,
      bytesPerSecond: limits.min_body_bytes_per_second,
    });
    this.joinDeps = {
      keyed,
      interrupted: (id) => bus.ping(cancelSubject(id)),
      keyless: (route) => this.warnOnce(`key ${route}`, route, KEYLESS),
    };
  }

  onModuleInit(): void {
    const fastify = this.adapter.httpAdapter.getInstance<FastifyInstance>();
    // A scope of its own: its parser and its error handler hold for this route only.
    fastify.register(async (scope) => {
      scope.removeAllContentTypeParsers();
      // Every type; the usual one by name as well, because Fastify only remembers which parser a named type has.
      scope.addContentTypeParser(['application/json', '*'], (request, payload, done) =>
        readBody(this.budget, payload, () => peerOf(request.ip), this.maxBodyBytes, done),
      );
      scope.setErrorHandler((error, request, reply) => this.refuse(error, request, reply));
      scope.post<{ Params: { route: string } }>('/webhooks/:route', {
        // Before the body is read: nobody sends a megabyte to a route that is not there.
        onRequest: (request: WebhookPost, _reply, done) => {
          const { access } = openRoute(this.routes, request.params.route);
          if (access.kind === 'open') refuseCrossSite(request.headers);
          done();
        },
        handler: async (request: WebhookPost, reply) => {
          const begun = performance.now();
          const { headers, body, params, url } = request;
          // Whoever does not read our answers keeps their requests here, of which many can be on one connection.
          request.body = undefined;
          const answer = await takeWebhook(
            this.routes,
            this.sessions,
            { routeName: params.route, headers, body, url },
            this.onWeakScheme,
            this.logger,
            this.joinDeps,
          );
          if (answer.status === 200) this.unstarted.answered({ routeName: params.route, headers }, answer);
          else metrics.webhooks.add({ route: params.route, outcome: startedAs(answer) });
          metrics.webhookSeconds.observe({}, (performance.now() - begun) / 1000);
          reply.code(answer.status);
          return answer.body;
        },
      });
    });
  }

  onModuleDestroy(): void {
    this.budget.close();
  }

  /** Once per route and process: it concerns the operator, who cannot change it by the next request. */
  private readonly onWeakScheme = (route: string, weakness: string): void =>
    this.warnOnce(`scheme ${route}`, route, weakness);

  private warnOnce(about: string, route: string, message: string): void {
    if (this.warned.has(about)) return;
    this.warned.add(about);
    this.logger.warn({ route }, message);
  }

  private refuse(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const answer = answerError(reply, error);
    const { route } = request.params as { route: string };
    this.unstarted.refused({ routeName: route, headers: request.headers }, error);
    if (answer.unexpected) {
      this.logger.error(
        { err: error, url: request.url },
        'a webhook could not be taken for a reason of our own',
      );
    }
  }
}

function startedAs({ body }: WebhookAnswer): 'accepted' | 'coalesced' {
  return body.status === 'coalesced' ? 'coalesced' : 'accepted';
}
