import type { SessionFilter } from '@angelia/event-log';

/** What a job is about, as its stream keeps it. Each action reads the fields that it knows. Times are ISO 8601. */
export interface JobFilter {
  readonly route?: string | undefined;
  readonly status?: string | undefined;
  readonly outcome?: string | undefined;
  readonly agent?: string | undefined;
  readonly model?: string | undefined;
  readonly failure?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly ended_since?: string | undefined;
  readonly waiting_for?: string | undefined;
  /** What `q` of the request meant. It stays so, whatever the job changes. */
  readonly id_prefix?: string | undefined;
  readonly delivery_id?: string | undefined;
  readonly title?: string | undefined;
  /** Of deliveries. */
  readonly target?: string | undefined;
  /** Of deliveries and dead letters. */
  readonly session?: string | undefined;
  /** Of dead letters. */
  readonly handler?: string | undefined;
}

/** What a job works on: what the filter finds, without what was created or changed after the request. */
export interface Selection {
  readonly filter: JobFilter;
  /** In milliseconds. */
  readonly before: number;
}

export function sessionFilterOf(filter: JobFilter): SessionFilter {
  const { route, status, outcome, agent, model, failure, id_prefix, delivery_id, title } = filter;
  const { waiting_for, ended_since } = filter;
  return {
    route,
    status,
    outcome,
    agent,
    model,
    failure,
    title,
    idPrefix: id_prefix,
    deliveryId: delivery_id,
    waitingFor: waiting_for,
    ...(ended_since === undefined ? {} : { endedSince: Date.parse(ended_since) }),
    ...timesOf(filter),
  };
}

export function timesOf({ since, until }: JobFilter): { since?: number; until?: number } {
  return {
    ...(since === undefined ? {} : { since: Date.parse(since) }),
    ...(until === undefined ? {} : { until: Date.parse(until) }),
  };
}
