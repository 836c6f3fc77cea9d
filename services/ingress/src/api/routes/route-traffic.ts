import type { EventLog } from '@angelia/event-log';
import { EVENT_LOG } from '@angelia/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { SharedAnswer } from '../../http/shared-answer.ts';
import { UnstartedWebhookRecorder } from '../../webhooks/unstarted/unstarted-webhook-recorder.ts';
import type { RouteJson } from './routes.operations.ts';

const DAY_MS = 86_400_000;

/** What routes did in the last 24 hours. One reading of the day serves all routes and all callers for some seconds. */
@Injectable()
export class RouteTraffic {
  readonly #day = new SharedAnswer(async () =>
    this.log.overview.trafficSince((await this.log.now()) - DAY_MS),
  );

  constructor(
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(UnstartedWebhookRecorder) private readonly recorder: UnstartedWebhookRecorder,
  ) {}

  async addTo(routes: readonly RouteJson[]): Promise<RouteJson[]> {
    await this.recorder.flush();
    const { byRoute, exact } = await this.#day.get();
    const last = await this.log.overview.lastWebhooks(routes.map(({ name }) => name));
    return routes.map((route) => {
      const { sessionAt = null, unstartedAt = null } = last.get(route.name) ?? {};
      const { sessions, failed } = byRoute.get(route.name) ?? { sessions: 0, failed: 0 };
      const lastAt = Math.max(sessionAt ?? 0, unstartedAt ?? 0);
      return {
        ...route,
        traffic: {
          last_webhook_at: lastAt === 0 ? null : new Date(lastAt).toISOString(),
          last_session_at: sessionAt === null ? null : new Date(sessionAt).toISOString(),
          sessions,
          failed,
          exact,
        },
      };
    });
  }
}
