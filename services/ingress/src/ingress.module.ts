import type { Config } from '@angelia/contracts';
import { CONFIG } from '@angelia/service-kit';
import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { SessionsController } from './api/sessions.controller.ts';
import { ErrorFilter } from './error.filter.ts';
import { compileRoutes } from './route-table.ts';
import { ROUTES } from './tokens.ts';
import { WebhookRoute } from './webhook.route.ts';

@Module({
  controllers: [SessionsController],
  providers: [
    { provide: ROUTES, inject: [CONFIG], useFactory: (config: Config) => compileRoutes(config) },
    WebhookRoute,
    { provide: APP_FILTER, useClass: ErrorFilter },
  ],
})
export class IngressModule {}
