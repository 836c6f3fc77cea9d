import type { CurrentConfig, Environment } from '@angelia/config';
import { answerLinks, CONFIG, callbackLinks, ENVIRONMENT } from '@angelia/service-kit';
import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { AccessCheck } from './access/access-check.ts';
import { AdminToken } from './access/admin-token.ts';
import type { WayIn } from './access/caller.ts';
import { AnswersController } from './answers/answers.controller.ts';
import { ApprovalLinksController } from './answers/approval-links.controller.ts';
import { ApprovalsController } from './api/approvals/approvals.controller.ts';
import { ChatsController } from './api/chats/chats.controller.ts';
import { ConfigController } from './api/config/config.controller.ts';
import { DeadLettersController } from './api/dead-letters/dead-letters.controller.ts';
import { DeliveriesController } from './api/deliveries/deliveries.controller.ts';
import { EventFeed } from './api/events/event-feed.ts';
import { EventsController } from './api/events/events.controller.ts';
import { JobsController } from './api/jobs/jobs.controller.ts';
import { OpenApiController } from './api/openapi/openapi.controller.ts';
import { OverviewController } from './api/overview/overview.controller.ts';
import { ProcessesController } from './api/processes/processes.controller.ts';
import { QuestionsController } from './api/questions/questions.controller.ts';
import { RouteTraffic } from './api/routes/route-traffic.ts';
import { RouteTrialsController } from './api/routes/route-trials.controller.ts';
import { RoutesController } from './api/routes/routes.controller.ts';
import { SessionsController } from './api/sessions/sessions.controller.ts';
import { SessionStreams } from './api/stream/session-streams.ts';
import { StreamController } from './api/stream/stream.controller.ts';
import { SystemController } from './api/system/system.controller.ts';
import { TurnsController } from './api/turns/turns.controller.ts';
import { UnstartedWebhooksController } from './api/unstarted-webhooks/unstarted-webhooks.controller.ts';
import { CallbacksController } from './callbacks/callbacks.controller.ts';
import { ChatConnections } from './chats/connect/chat-connections.ts';
import { ChatsEndpoint } from './chats/receive/chats.endpoint.ts';
import { ChatTaking } from './chats/take/chat-taking.ts';
import { ConsoleBundle } from './console/bundle/console-bundle.ts';
import { ConsoleCookie } from './console/console-cookie.ts';
import { ConsoleSessions } from './console/console-sessions.ts';
import { LinksController } from './console/links.controller.ts';
import { SignInController } from './console/sign-in.controller.ts';
import { ErrorFilter } from './http/error.filter.ts';
import { RouteChanges } from './routes/route-changes.ts';
import { RouteRegistry } from './routes/route-registry.ts';
import { ANSWER_LINKS, CALLBACK_LINKS, ROUTES, WAYS_IN } from './tokens.ts';
import { UnstartedWebhookRecorder } from './webhooks/unstarted/unstarted-webhook-recorder.ts';
import { WebhookEndpoint } from './webhooks/webhook.endpoint.ts';

@Module({
  controllers: [
    OpenApiController,
    AnswersController,
    ApprovalLinksController,
    CallbacksController,
    ChatsController,
    ConfigController,
    SignInController,
    LinksController,
    DeadLettersController,
    DeliveriesController,
    EventsController,
    JobsController,
    OverviewController,
    ProcessesController,
    QuestionsController,
    ApprovalsController,
    RouteTrialsController,
    RoutesController,
    UnstartedWebhooksController,
    StreamController,
    SystemController,
    TurnsController,
    SessionsController,
  ],
  providers: [
    {
      provide: ANSWER_LINKS,
      inject: [CONFIG, ENVIRONMENT],
      useFactory: (config: CurrentConfig, environment: Environment) =>
        answerLinks(config.current, environment),
    },
    {
      provide: CALLBACK_LINKS,
      inject: [CONFIG, ENVIRONMENT],
      useFactory: (config: CurrentConfig, environment: Environment) =>
        callbackLinks(config.current, environment),
    },
    RouteRegistry,
    { provide: ROUTES, useExisting: RouteRegistry },
    RouteChanges,
    RouteTraffic,
    UnstartedWebhookRecorder,
    SessionStreams,
    EventFeed,
    AdminToken,
    ConsoleSessions,
    ConsoleCookie,
    {
      provide: WAYS_IN,
      inject: [AdminToken, ConsoleCookie],
      useFactory: (...ways: WayIn[]) => ways,
    },
    AccessCheck,
    ConsoleBundle,
    WebhookEndpoint,
    ChatTaking,
    ChatsEndpoint,
    ChatConnections,
    { provide: APP_FILTER, useClass: ErrorFilter },
  ],
})
export class IngressModule {}
