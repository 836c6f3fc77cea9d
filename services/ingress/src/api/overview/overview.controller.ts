import { type Activity, type Count, type EventLog, MINUTE_MS } from '@angelia/event-log';
import { EVENT_LOG } from '@angelia/service-kit';
import { Controller, Get, Inject, UseGuards } from '@nestjs/common';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { SharedAnswer } from '../../http/shared-answer.ts';
import { UnstartedWebhookRecorder } from '../../webhooks/unstarted/unstarted-webhook-recorder.ts';
import type { FigureJson, LatencyJson, MinuteJson, OverviewJson } from './overview.operations.ts';
import { RecentMinutes } from './recent-minutes.ts';

const MINUTES = 60;

@Controller('/v1/overview')
@UseGuards(AdminTokenGuard)
export class OverviewController {
  readonly #overview = new SharedAnswer(() => this.#read());
  readonly #minutes = new RecentMinutes();

  constructor(
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(UnstartedWebhookRecorder) private readonly recorder: UnstartedWebhookRecorder,
  ) {}

  @Get()
  show(): Promise<OverviewJson> {
    return this.#overview.get();
  }

  async #read(): Promise<OverviewJson> {
    await this.recorder.flush();
    const now = await this.log.now();
    const since = (Math.floor(now / MINUTE_MS) - MINUTES + 1) * MINUTE_MS;
    const from = this.#minutes.from(since, now);
    const read = await this.log.overview.activity(since, from);
    return overviewJson({ ...read, ...this.#minutes.with(read, { since, from, now }) }, since, now);
  }
}

/** `since` is the beginning of a minute. The lists behind the figures begin then, too, so that both agree. */
export function overviewJson(activity: Activity, since: number, now: number): OverviewJson {
  const { open, waitingFor } = activity;
  const from = new Date(since).toISOString();
  const sessions = (count: number | undefined, exact: boolean, filter: string): FigureJson => ({
    count: count ?? 0,
    exact,
    list: `/v1/sessions?${filter}`,
  });
  const minutes = Array.from({ length: MINUTES }, (_, index) =>
    minuteJson(activity, since + index * MINUTE_MS),
  );
  const ended = (outcome: 'failed' | 'expired') =>
    sessions(
      minutes.reduce((sum, minute) => sum + minute.ended[outcome], 0),
      activity.minutesExact && open.exact,
      `outcome=${outcome}&ended_since=${from}`,
    );
  const waiting = (what: 'person' | 'approval' | 'model' | 'process') =>
    sessions(waitingFor.get(what), open.exact, `status=waiting&waiting_for=${what}`);
  const byStatus = (status: string) => sessions(open.byStatus.get(status), open.exact, `status=${status}`);
  return {
    at: new Date(now).toISOString(),
    sessions: {
      queued: byStatus('queued'),
      running: byStatus('running'),
      waiting: byStatus('waiting'),
      waiting_for: {
        person: waiting('person'),
        approval: waiting('approval'),
        model: waiting('model'),
        process: waiting('process'),
      },
    },
    last_hour: {
      failed: ended('failed'),
      expired: ended('expired'),
      dead_deliveries: figure(activity.deadDeliveries, `/v1/deliveries?status=dead&since=${from}`),
      refused_webhooks: figure(activity.refusedWebhooks, `/v1/webhooks?refused=true&since=${from}`),
    },
    dead_letters: figure(activity.deadLetters, '/v1/dead-letters'),
    minutes,
    minutes_exact: activity.minutesExact,
  };
}

function figure({ count, exact }: Count, list: string): FigureJson {
  return { count, exact, list };
}

function minuteJson({ minutes }: Activity, at: number): MinuteJson {
  const minute = minutes.get(at);
  const ended = (outcome: string) => minute?.ended.get(outcome) ?? 0;
  return {
    minute: new Date(at).toISOString(),
    created: minute?.created ?? 0,
    ended: {
      succeeded: ended('succeeded'),
      failed: ended('failed'),
      cancelled: ended('cancelled'),
      expired: ended('expired'),
    },
    delivered: minute?.delivered ?? 0,
    first_status: latencyJson(minute?.firstStatus ?? null),
    answered: latencyJson(minute?.answered ?? null),
  };
}

function latencyJson(latency: { readonly p50Ms: number; readonly p95Ms: number } | null): LatencyJson | null {
  return latency === null ? null : { p50_ms: latency.p50Ms, p95_ms: latency.p95Ms };
}
