import type { UnstartedOutcome } from '@angelia/contracts';
import type { EventLog } from '@angelia/event-log';
import { EVENT_LOG } from '@angelia/service-kit';
import { Controller, Get, Inject, Query, UseGuards } from '@nestjs/common';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { parseQuery } from '../../http/parse-request.ts';
import { UnstartedWebhookRecorder } from '../../webhooks/unstarted/unstarted-webhook-recorder.ts';
import {
  type UnstartedCountJson,
  type UnstartedJson,
  unstartedCountsQuery,
  unstartedQuery,
} from './unstarted-webhooks.operations.ts';

/** Webhooks that started no session: "why did nothing happen?" */
@Controller('/v1/webhooks')
@UseGuards(AdminTokenGuard)
export class UnstartedWebhooksController {
  constructor(
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(UnstartedWebhookRecorder) private readonly recorder: UnstartedWebhookRecorder,
  ) {}

  @Get()
  async list(@Query() query: unknown): Promise<{ items: UnstartedJson[] }> {
    const { refused, ...filter } = parseQuery(unstartedQuery, query);
    await this.recorder.flush();
    const webhooks = await this.log.unstartedWebhooks.list({ ...filter, isRefused: refused });
    return {
      items: webhooks.map((webhook) => ({
        received_at: isoTime(webhook.receivedAt),
        ...kindJson(webhook),
        status: webhook.status,
        event: webhook.event,
        delivery_id: webhook.deliveryId,
        session_id: webhook.sessionId,
        requested_route: webhook.requestedRoute,
        detail: webhook.detail,
        source: webhook.source,
      })),
    };
  }

  @Get('/counts')
  async counts(@Query() query: unknown): Promise<{ items: UnstartedCountJson[] }> {
    const filter = parseQuery(unstartedCountsQuery, query);
    await this.recorder.flush();
    const counts = await this.log.unstartedWebhooks.count(filter);
    return {
      items: counts.map((count) => ({
        ...kindJson(count),
        count: count.webhooks,
        first_at: isoTime(count.firstAt),
        last_at: isoTime(count.lastAt),
      })),
    };
  }
}

/** The name of a route cannot start with a parenthesis. Names that do stand for no particular route. */
function kindJson({ route, outcome, reason }: { route: string; outcome: string; reason: string }) {
  return { route: route.startsWith('(') ? null : route, outcome: outcome as UnstartedOutcome, reason };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
