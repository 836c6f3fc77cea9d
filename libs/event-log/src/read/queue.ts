import { sql } from 'kysely';
import { textArray } from '../connection/binary-array.ts';
import type { ConnectionPool, Statement } from '../connection/connection-pool.ts';
import { milliseconds, prepare, queries } from '../connection/query-builder.ts';

export interface QueuedSession {
  readonly sessionId: string;
  readonly route: string;
  readonly version: number;
  readonly runDueAt: number;
}

/** Each route's longest waiting session first; routes take turns, so that a busy route does not starve a quiet one. */
const PICK: Statement = {
  name: 'pick_queued',
  text: `WITH RECURSIVE routes AS (
    (SELECT s.route FROM angelia.sessions s WHERE s.run_due_at IS NOT NULL AND NOT s.running ORDER BY s.route LIMIT 1)
    UNION ALL
    SELECT (SELECT s.route FROM angelia.sessions s WHERE s.run_due_at IS NOT NULL AND NOT s.running AND s.route > r.route
            ORDER BY s.route LIMIT 1)
    FROM routes r WHERE r.route IS NOT NULL
  )
  SELECT q.session_id, r.route, q.version, date_part('epoch', q.run_due_at) * 1000
  FROM routes r
  CROSS JOIN LATERAL (
    SELECT w.*, row_number() OVER (ORDER BY w.run_due_at, w.session_id) AS turn
    FROM (SELECT s.session_id, s.version, s.run_due_at FROM angelia.sessions s
          WHERE s.route = r.route AND s.run_due_at <= now() AND NOT s.running
          ORDER BY s.run_due_at, s.session_id LIMIT $1) w
  ) q
  WHERE r.route IS NOT NULL AND r.route <> ALL ($2::text[])
  ORDER BY q.turn, q.run_due_at LIMIT $1`,
};

const QUEUED_OF_ROUTE = prepare('queued_of_route', (given: { route: string; limit: number }) =>
  queries
    .selectFrom('angelia.sessions as s')
    .select(['s.session_id', 's.route', 's.version', milliseconds('s.run_due_at').as('run_due_at')])
    .where('s.route', '=', given.route)
    .where('s.run_due_at', '<=', sql<Date>`now()`)
    .where((where) => where.not('s.running'))
    .orderBy('s.run_due_at')
    .orderBy('s.session_id')
    .limit(given.limit),
);

const DUE: Readonly<Record<'runs' | 'deliveries', Statement>> = {
  runs: {
    name: 'due_runs',
    text: `SELECT count(*)::int FROM (
             SELECT 1 FROM angelia.sessions s WHERE s.run_due_at <= now() AND s.run_due_at IS NOT NULL AND NOT s.running
             LIMIT $1) d`,
  },
  deliveries: {
    name: 'due_deliveries',
    text: `SELECT count(*)::int FROM (
             SELECT 1 FROM angelia.sessions s WHERE s.delivery_due_at <= now() AND s.delivery_due_at IS NOT NULL
             LIMIT $1) d`,
  },
};

/** By the index of unsettled sessions: the cost does not grow with the sessions that were served. */
const QUEUED_WITH_STATE = prepare(
  'queued_with_state',
  (given: { state: string; after: string; limit: number }) =>
    queries
      .selectFrom('angelia.sessions as s')
      .select('s.session_id')
      .where((where) => where.not('s.settled'))
      .where('s.run_due_at', 'is not', null)
      .where((where) => where.not('s.running'))
      .where('s.session_id', '>', given.after)
      .where(sql<boolean>`s.state @> ${given.state}::jsonb`)
      .orderBy('s.session_id')
      .limit(given.limit),
);

/** Sessions that want a run now. They come from the views, which may be a moment behind. */
export class Queue {
  readonly #pool: ConnectionPool;

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
  }

  /** The longest waiting session of each route first; routes take turns. */
  async pick(limit: number, exceptRoutes: readonly string[] = []): Promise<QueuedSession[]> {
    const rows = await this.#pool.query(PICK, [limit, textArray(exceptRoutes)]);
    return rows.map(([sessionId, route, version, runDueAt]) => ({
      sessionId: sessionId as string,
      route: route as string,
      version: version as number,
      runDueAt: Math.round(runDueAt as number),
    }));
  }

  /** How many sessions wait for a run or a delivery that is due, up to `most`. */
  async due(what: 'runs' | 'deliveries', most: number): Promise<number> {
    return ((await this.#pool.query(DUE[what], [most]))[0]?.[0] as number | undefined) ?? 0;
  }

  /** Sessions that want a run now or later and whose state contains this part, the oldest first, from `after` on. */
  async pickByState(part: object, after: string, limit: number): Promise<string[]> {
    const rows = await this.#pool.runPrepared(QUEUED_WITH_STATE, {
      state: JSON.stringify(part),
      after,
      limit,
    });
    return rows.map((row) => row.session_id);
  }

  async pickOfRoute(route: string, limit: number): Promise<QueuedSession[]> {
    const rows = await this.#pool.runPrepared(QUEUED_OF_ROUTE, { route, limit });
    return rows.map((row) => ({
      sessionId: row.session_id,
      route: row.route,
      version: row.version,
      runDueAt: Math.round(row.run_due_at),
    }));
  }
}
