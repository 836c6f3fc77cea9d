import type { Environment } from '@angelia/config';
import type { Config } from '@angelia/contracts';
import { answerLinks, CONFIG, callbackLinks, ENVIRONMENT } from '@angelia/service-kit';
import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { AnswersController } from './answers/answers.controller.ts';
import { DeadLettersController } from './api/dead-letters.controller.ts';
import { DeliveriesController } from './api/deliveries.controller.ts';
import { LiveStreams } from './api/live-streams.ts';
import { OpenApiController } from './api/openapi/openapi.controller.ts';
import { ProcessesController } from './api/processes.controller.ts';
import { RoutesController } from './api/routes.controller.ts';
import { SessionsController } from './api/sessions.controller.ts';
import { StreamController } from './api/stream.controller.ts';
import { TurnsController } from './api/turns.controller.ts';
import { UnstartedWebhooksController } from './api/unstarted-webhooks.controller.ts';
import { CallbacksController } from './callbacks/callbacks.controller.ts';
import { ErrorFilter } from './error.filter.ts';
import { LiveRoutes } from './routes/live-routes.ts';
import { RouteChanges } from './routes/route-changes.ts';
import { Entrance } from './strangers/entrance.ts';
import { ANSWER_LINKS, CALLBACK_LINKS, ROUTES } from './tokens.ts';
import { UnstartedWebhooks } from './unstarted/unstarted-webhooks.ts';
import { WebhookRoute } from './webhook.route.ts';

@Module({
  controllers: [
    OpenApiController,
    AnswersController,
    CallbacksController,
    DeadLettersController,
    DeliveriesController,
    ProcessesController,
    RoutesController,
    UnstartedWebhooksController,
    StreamController,
    TurnsController,
    SessionsController,
  ],
  providers: [
    {
      provide: ANSWER_LINKS,
      inject: [CONFIG, ENVIRONMENT],
      useFactory: (config: Config, environment: Environment) => answerLinks(config, environment),
    },
    {
      provide: CALLBACK_LINKS,
      inject: [CONFIG, ENVIRONMENT],
      useFactory: (config: Config, environment: Environment) => callbackLinks(config, environment),
    },
    LiveRoutes,
    { provide: ROUTES, useExisting: LiveRoutes },
    RouteChanges,
    UnstartedWebhooks,
    LiveStreams,
    Entrance,
    WebhookRoute,
    { provide: APP_FILTER, useClass: ErrorFilter },
  ],
})
export class IngressModule {}
