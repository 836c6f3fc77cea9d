import type { Lane, Statement } from '../connection/database.ts';

/** What is not settled yet. */
export interface OpenWork {
  /** Sessions by status; `ended` is one with something left to deliver or to watch. At most MOST_COUNTED in all. */
  readonly sessions: Readonly<Record<string, number>>;
  /** For how long the longest waiting turn, and delivery, has been due; 0 when none is. */
  readonly runOverdueMs: number;
  readonly deliveryOverdueMs: number;
}

/** Beyond it the number does not matter any more, and counting it would. */
const MOST_COUNTED = 100_000;

/** Partial indexes hold what is open: the cost does not grow with the sessions that were served. */
const OPEN_WORK: Statement = {
  name: 'open_work',
  text: `SELECT
    (SELECT coalesce(jsonb_object_agg(c.status, c.sessions), '{}') FROM (
       SELECT o.status, count(*) AS sessions
       FROM (SELECT s.status FROM angelia.sessions s WHERE NOT s.settled LIMIT ${MOST_COUNTED}) o GROUP BY o.status) c),
    date_part('epoch', clock_timestamp() - (SELECT s.run_due_at FROM angelia.sessions s
       WHERE s.run_due_at IS NOT NULL AND NOT s.running ORDER BY s.run_due_at, s.session_id LIMIT 1)) * 1000,
    date_part('epoch', clock_timestamp() - (SELECT s.delivery_due_at FROM angelia.sessions s
       WHERE s.delivery_due_at IS NOT NULL ORDER BY s.delivery_due_at, s.session_id LIMIT 1)) * 1000`,
};

export async function readOpenWork(lane: Lane): Promise<OpenWork> {
  const [sessions, run, delivery] = (await lane.query(OPEN_WORK, []))[0] ?? [];
  const age = (value: unknown) => Math.max(0, Math.round((value as number | null | undefined) ?? 0));
  return {
    sessions: (sessions as Record<string, number> | undefined) ?? {},
    runOverdueMs: age(run),
    deliveryOverdueMs: age(delivery),
  };
}
