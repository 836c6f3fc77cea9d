import { textArray } from '../connection/binary-array.ts';
import type { ConnectionPool, Statement } from '../connection/connection-pool.ts';
import { idAt, idTime } from '../read/id-time.ts';
import { type Count, MOST_COUNTED } from '../read/page.ts';
import type { ViewsVersion } from '../read/views-version.ts';
import { AWAITED_MODELS, type AwaitedModel, REFUSED_WEBHOOKS } from './recent-trouble.ts';

/** What goes on now, and what happened minute by minute. From the views, so a moment behind. */
export interface Activity {
  /** Sessions that have not ended, by status. */
  readonly open: { readonly byStatus: ReadonlyMap<string, number>; readonly exact: boolean };
  /** Those that wait, by what for. */
  readonly waitingFor: ReadonlyMap<string, number>;
  readonly deadDeliveries: Count;
  readonly refusedWebhooks: Count;
  readonly deadLetters: Count;
  /** Minutes in which something happened, by their beginning in milliseconds. */
  readonly minutes: ReadonlyMap<number, Minute>;
  /** False: so much happened that the oldest minutes are not complete. */
  readonly minutesExact: boolean;
}

export interface Minute {
  readonly created: number;
  /** By outcome. */
  readonly ended: ReadonlyMap<string, number>;
  readonly delivered: number;
  /** From the webhook to the first output of the session, for those that were delivered in this minute. */
  readonly firstStatus: Latency | null;
  /** From the webhook to the answer of its turn. */
  readonly answered: Latency | null;
}

interface Latency {
  readonly p50Ms: number;
  readonly p95Ms: number;
}

/** A target that the last attempt of some pending deliveries failed at. */
export interface FailingTarget {
  readonly target: string;
  readonly deliveries: number;
  readonly exact: boolean;
  /** Of the delivery that changed last. */
  readonly reason: string | null;
  readonly nextAttemptAt: number | null;
}

export interface RouteTraffic {
  readonly sessions: number;
  /** Of these: failed or expired. */
  readonly failed: number;
}

export const MINUTE_MS = 60_000;

/**
 * Deliveries are looked at one by one, for their times. So many in an hour are 14 per second, which no chart of a minute
 * needs in full: beyond that only the newest count, and `minutesExact` is false.
 */
const MOST_DELIVERIES = 50_000;
/** The clock of ingress made the id, the clock of the database judges. Where they differ by more, `doctor` says so. */
const CLOCK_SLACK_MS = MINUTE_MS;
const MOST_PENDING = 10_000;

const minuteOf = (column: string) =>
  `(floor(date_part('epoch', ${column}) / 60) * ${MINUTE_MS})::bigint AS minute`;

/**
 * The newest first. As a range and an order of both columns, only the index by status answers it. With `status = ...` the
 * planner may read the index by time and look for rows of that status, which are few among millions.
 */
const changedSince = (status: string, since: string) =>
  `(d.status, d.updated_at) >= ('${status}', ${since}::timestamptz) AND (d.status, d.updated_at) < ('${status}', 'infinity')
   ORDER BY d.status DESC, d.updated_at DESC, d.session_id DESC, d.output DESC`;

/** Open sessions by status and by what they wait for; and those that ended, but have something left to deliver. */
const OPEN: Statement = {
  name: 'overview_open',
  text: `SELECT o.status, o.waiting_for, o.minute, o.outcome, count(*)::int
    FROM (SELECT s.status, s.waiting_for, s.outcome,
            CASE WHEN s.ended_at >= $1 THEN (floor(date_part('epoch', s.ended_at) / 60) * ${MINUTE_MS})::bigint END AS minute
          FROM angelia.sessions s WHERE NOT s.settled ORDER BY s.session_id DESC LIMIT ${MOST_COUNTED}) o
    GROUP BY o.status, o.waiting_for, o.minute, o.outcome`,
};
const ENDED: Statement = {
  name: 'overview_ended',
  text: `SELECT ${minuteOf('e.ended_at')}, e.outcome, count(*)::int
    FROM (SELECT s.ended_at, s.outcome FROM angelia.sessions s
          WHERE s.settled AND s.ended_at >= $1 ORDER BY s.ended_at DESC LIMIT ${MOST_COUNTED}) e
    GROUP BY 1, 2`,
};
const CREATED: Statement = {
  name: 'overview_created',
  text: `SELECT ${minuteOf('c.created_at')}, count(*)::int
    FROM (SELECT s.created_at FROM angelia.sessions s
          WHERE s.session_id >= $1 ORDER BY s.session_id DESC LIMIT ${MOST_COUNTED}) c
    WHERE c.created_at >= $2 GROUP BY 1`,
};
/** Later turns of a session have no webhook of their own to count from, except the first output of all. */
const DELIVERED: Statement = {
  name: 'overview_delivered',
  text: `SELECT minute, count(*)::int,
      percentile_disc(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY ms) FILTER (WHERE first),
      percentile_disc(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY ms) FILTER (WHERE answer)
    FROM (SELECT ${minuteOf('d.updated_at')},
            greatest(0, round(date_part('epoch', d.updated_at) * 1000 - ${idTime('d.session_id')}))::float8 AS ms,
            NOT EXISTS (SELECT FROM angelia.deliveries e WHERE e.session_id = d.session_id AND e.output < d.output) AS first,
            d.detail ->> 'kind' = 'final-response' AND d.detail ->> 'turn' = '1' AS answer
          FROM (SELECT * FROM angelia.deliveries d WHERE ${changedSince('delivered', '$1')} LIMIT ${MOST_DELIVERIES}) d) d
    GROUP BY minute`,
};
const DEAD_DELIVERIES: Statement = {
  name: 'overview_dead_deliveries',
  text: `SELECT count(*)::int FROM (SELECT 1 FROM angelia.deliveries d WHERE ${changedSince('dead', '$1')}
    LIMIT ${MOST_COUNTED}) d`,
};
const DEAD_LETTERS: Statement = {
  name: 'overview_dead_letters',
  text: `SELECT count(*)::int FROM (SELECT l.id FROM angelia.dead_letters l ORDER BY l.id DESC LIMIT ${MOST_COUNTED}) l`,
};
const REFUSED: Statement = { name: 'refused_webhooks', text: REFUSED_WEBHOOKS };
const AWAITED: Statement = { name: 'awaited_models', text: AWAITED_MODELS };

const FAILING_TARGETS: Statement = {
  name: 'failing_targets',
  text: `SELECT p.target, count(*)::int, (array_agg(p.reason ORDER BY p.updated_at DESC))[1],
      date_part('epoch', min(p.due_at)) * 1000, bool_or(p.looked >= ${MOST_PENDING})
    FROM (SELECT d.target, d.attempts, d.detail ->> 'reason' AS reason, d.updated_at, d.due_at, count(*) OVER () AS looked
          FROM (SELECT * FROM angelia.deliveries d WHERE ${changedSince('pending', "'-infinity'")} LIMIT ${MOST_PENDING}) d) p
    WHERE p.attempts > 0 AND p.reason IS NOT NULL
    GROUP BY p.target ORDER BY p.target`,
};

const TRAFFIC: Statement = {
  name: 'route_traffic',
  text: `SELECT t.route, count(*)::int, count(*) FILTER (WHERE t.outcome IN ('failed', 'expired'))::int, sum(count(*)) OVER ()::int
    FROM (SELECT s.route, s.outcome FROM angelia.sessions s WHERE s.session_id >= $1
          ORDER BY s.session_id DESC LIMIT ${MOST_COUNTED}) t
    GROUP BY t.route`,
};
/** `g` is behind every id. The last session of each route by the index of routes, and the last webhook that started none. */
const LAST_WEBHOOKS: Statement = {
  name: 'last_webhooks',
  text: `SELECT r.route, date_part('epoch', s.created_at) * 1000, date_part('epoch', w.last_at) * 1000
    FROM unnest($1::text[]) r(route)
    LEFT JOIN LATERAL (SELECT s.route, s.created_at FROM angelia.sessions s WHERE (s.route, s.session_id) < (r.route, 'g')
                       ORDER BY s.route DESC, s.session_id DESC LIMIT 1) s ON s.route = r.route
    LEFT JOIN LATERAL (SELECT max(c.last_at) AS last_at FROM angelia.unstarted_webhook_counts c
                       WHERE c.route = r.route) w ON true`,
};

/**
 * Figures for a page that people keep open. Each statement reads one index from its newest end up to a bound, so the cost
 * depends on what happens now, never on the length of the log.
 */
export class Overview {
  readonly #pool: ConnectionPool;
  readonly #version: ViewsVersion;

  constructor(pool: ConnectionPool, version: ViewsVersion) {
    this.#pool = pool;
    this.#version = version;
  }

  /**
   * Counts since `since`. Minutes since `minutesSince`, which is later if the caller already has the earlier ones, because the
   * minutes cost the most.
   * @throws ViewsOutdated
   */
  async activity(since: number, minutesSince = since): Promise<Activity> {
    await this.#version.check();
    const from = new Date(minutesSince);
    // One after the other: the page is not worth more than one connection.
    const open = await this.#pool.query(OPEN, [from]);
    const ended = await this.#pool.query(ENDED, [from]);
    const created = await this.#pool.query(CREATED, [idAt(minutesSince - CLOCK_SLACK_MS), from]);
    const delivered = await this.#pool.query(DELIVERED, [from]);
    const dead = numberIn(await this.#pool.query(DEAD_DELIVERIES, [new Date(since)]));
    const letters = numberIn(await this.#pool.query(DEAD_LETTERS, []));
    const refused = await this.#pool.query(REFUSED, [new Date(since)]);

    const minutes = new Map<number, MinuteDraft>();
    const at = (minute: unknown): MinuteDraft => {
      const key = minute as number;
      const known = minutes.get(key);
      if (known !== undefined) return known;
      const draft = { created: 0, ended: new Map(), delivered: 0, firstStatus: null, answered: null };
      minutes.set(key, draft);
      return draft;
    };
    const byStatus = new Map<string, number>();
    const waitingFor = new Map<string, number>();
    let looked = 0;
    for (const [status, waiting, minute, outcome, count] of open) {
      looked += count as number;
      if (minute !== null) add(at(minute).ended, outcome as string, count as number);
      if (status !== 'ended') add(byStatus, status as string, count as number);
      if (waiting !== null) add(waitingFor, waiting as string, count as number);
    }
    for (const [minute, outcome, count] of ended) add(at(minute).ended, outcome as string, count as number);
    for (const [minute, count] of created) at(minute).created = count as number;
    for (const [minute, count, first, answer] of delivered) {
      Object.assign(at(minute), {
        delivered: count as number,
        firstStatus: latencyOf(first),
        answered: latencyOf(answer),
      });
    }
    return {
      open: { byStatus, exact: looked < MOST_COUNTED },
      waitingFor,
      deadDeliveries: bounded(dead),
      deadLetters: bounded(letters),
      refusedWebhooks: {
        count: refused.reduce(
          (sum, [, , , allNew, webhooks, kept]) => sum + ((allNew ? webhooks : kept) as number),
          0,
        ),
        exact: refused.every(([, , , allNew]) => allNew),
      },
      minutes,
      minutesExact:
        total(ended, 2) < MOST_COUNTED &&
        total(created, 1) < MOST_COUNTED &&
        total(delivered, 1) < MOST_DELIVERIES,
    };
  }

  /** Models that sessions wait for right now, with the most awaited first. */
  async awaitedModels(): Promise<AwaitedModel[]> {
    return (await this.#pool.query(AWAITED, [])).map(([model, code, reason, sessions]) => ({
      model: model as string,
      code: code as string,
      reason: reason as AwaitedModel['reason'],
      sessions: sessions as number,
    }));
  }

  async failingTargets(): Promise<FailingTarget[]> {
    return (await this.#pool.query(FAILING_TARGETS, [])).map(([target, deliveries, reason, next, isCut]) => ({
      target: target as string,
      deliveries: deliveries as number,
      exact: isCut !== true,
      reason: reason as string | null,
      nextAttemptAt: next === null ? null : Math.round(next as number),
    }));
  }

  /** Sessions that were created since then, by route. A route without any is left out. */
  async trafficSince(since: number): Promise<{ byRoute: ReadonlyMap<string, RouteTraffic>; exact: boolean }> {
    const rows = await this.#pool.query(TRAFFIC, [idAt(since)]);
    return {
      byRoute: new Map(
        rows.map(([route, sessions, failed]) => [
          route as string,
          { sessions: sessions as number, failed: failed as number },
        ]),
      ),
      exact: ((rows[0]?.[3] as number | undefined) ?? 0) < MOST_COUNTED,
    };
  }

  /** When the last session of each route was created, and when the last webhook came that started none. */
  async lastWebhooks(
    routes: readonly string[],
  ): Promise<
    ReadonlyMap<string, { readonly sessionAt: number | null; readonly unstartedAt: number | null }>
  > {
    const rows = await this.#pool.query(LAST_WEBHOOKS, [textArray(routes)]);
    const time = (value: unknown) => (value === null ? null : Math.round(value as number));
    return new Map(
      rows.map(([route, session, unstarted]) => [
        route as string,
        { sessionAt: time(session), unstartedAt: time(unstarted) },
      ]),
    );
  }
}

type MinuteDraft = { -readonly [K in keyof Minute]: Minute[K] } & { readonly ended: Map<string, number> };

function add(to: Map<string, number>, key: string, count: number): void {
  to.set(key, (to.get(key) ?? 0) + count);
}

function numberIn(rows: readonly (readonly unknown[])[]): number {
  return (rows[0]?.[0] as number | undefined) ?? 0;
}

function total(rows: readonly (readonly unknown[])[], column: number): number {
  return rows.reduce((sum, row) => sum + (row[column] as number), 0);
}

function bounded(count: number): Count {
  return { count, exact: count < MOST_COUNTED };
}

/** Null: nothing to measure in this minute. */
function latencyOf(percentiles: unknown): Latency | null {
  if (percentiles === null) return null;
  const [p50, p95] = percentiles as readonly [number, number];
  return { p50Ms: p50, p95Ms: p95 };
}
