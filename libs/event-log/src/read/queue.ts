import { textArray } from '../connection/binary-array.ts';
import type { Lane, Statement } from '../connection/database.ts';

export interface QueuedSession {
  readonly sessionId: string;
  readonly route: string;
  readonly version: number;
  readonly runDueAt: number;
}

/** Each route's longest waiting first, routes taking turns: a busy route does not starve a quiet one. */
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
const QUEUED_OF: Statement = {
  name: 'queued_of_route',
  text: `SELECT s.session_id, s.route, s.version, date_part('epoch', s.run_due_at) * 1000 FROM angelia.sessions s
         WHERE s.route = $1 AND s.run_due_at <= now() AND NOT s.running
         ORDER BY s.run_due_at, s.session_id LIMIT $2`,
};

/** Sessions that want a run now. From the views: they may be a moment old. */
export class Queue {
  readonly #lane: Lane;

  constructor(lane: Lane) {
    this.#lane = lane;
  }

  /** The longest waiting of each route first, routes taking turns. */
  async pick(limit: number, exceptRoutes: readonly string[] = []): Promise<QueuedSession[]> {
    return (await this.#lane.query(PICK, [limit, textArray(exceptRoutes)])).map(toQueuedSession);
  }

  async pickOfRoute(route: string, limit: number): Promise<QueuedSession[]> {
    return (await this.#lane.query(QUEUED_OF, [route, limit])).map(toQueuedSession);
  }
}

function toQueuedSession([sessionId, route, version, runDueAt]: readonly unknown[]): QueuedSession {
  return {
    sessionId: sessionId as string,
    route: route as string,
    version: version as number,
    runDueAt: Math.round(runDueAt as number),
  };
}
