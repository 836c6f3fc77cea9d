import { pruneSessions } from '@angelia/event-log/admin';
import { type LongLog, viewsOf } from './long-log.ts';
import { deadRowsBeforeVacuum, vacuum } from './vacuum.ts';

const PRUNED = 2_000;
/** What pruning pauses between batches, by libs/event-log/src/admin/prune.ts. */
const [BATCH, PAUSE_MS] = [50, 20];
/** Longer than any log of the bench: a pass finds nothing. */
const NOTHING_DUE_DAYS = 3_650;
const DELETED_AT_ONCE = 2_000;

/** Nothing is pruned that a reader has not passed. */
export async function passAllReaders({ query }: LongLog): Promise<void> {
  await query(
    `UPDATE angelia.checkpoints SET (epoch, tx, position) =
       (SELECT epoch, tx, position FROM angelia.events ORDER BY epoch DESC, tx DESC, position DESC LIMIT 1)`,
  );
}

/** A pass that has nothing to prune, as most are that run every hour. */
export async function pruneNothing({ log }: LongLog): Promise<void> {
  const { sessions } = await pruneSessions({ log, olderThanDays: NOTHING_DUE_DAYS });
  if (sessions > 0) throw new Error('a pass that had nothing due pruned sessions');
}

export interface Pruning {
  /** Milliseconds per session, without the pauses. */
  readonly perSession: number;
  /** With them: what a running system sees. */
  readonly sessionsPerSecond: number;
}

/** Prunes the oldest 2,000 sessions, as the services do. */
export async function pruneOldest({ log, query }: LongLog): Promise<Pruning> {
  const [cutoff] = await query<{ days: number }>(
    `SELECT date_part('epoch', now() - s.ended_at) / 86400 AS days FROM angelia.sessions s
     ORDER BY s.session_id OFFSET ${PRUNED} LIMIT 1`,
  );
  const start = performance.now();
  const { sessions } = await pruneSessions({ log, olderThanDays: cutoff?.days ?? 0 });
  const ms = performance.now() - start;
  if (sessions < PRUNED / 2) throw new Error(`only ${sessions} sessions were pruned`);
  return {
    perSession: (ms - Math.ceil(sessions / BATCH) * PAUSE_MS) / sessions,
    sessionsPerSecond: (sessions * 1_000) / ms,
  };
}

/**
 * Milliseconds of vacuum per pruned session: of its events and its delivery, when so many were pruned that autovacuum comes.
 * They are deleted without the checks of pruning, which would take minutes.
 */
export async function vacuumAfterPruning(long: LongLog): Promise<number> {
  const { query } = long;
  const views = await viewsOf(long);
  const tables = ['angelia.events', `${views}.deliveries`];
  for (const table of tables) await vacuum(long, table);
  const enough = await deadRowsBeforeVacuum(long, 'angelia.events');
  let sessions = 0;
  for (let events = 0; events < enough; ) {
    const [row] = await query<{ sessions: number; events: number }>(
      `WITH old AS MATERIALIZED (
         SELECT s.session_id FROM ${views}.sessions s ORDER BY s.session_id LIMIT ${DELETED_AT_ONCE}
       ), e AS (DELETE FROM angelia.events WHERE stream_id = ANY (ARRAY(SELECT session_id FROM old)) RETURNING 1
       ), d AS (DELETE FROM ${views}.deliveries WHERE session_id = ANY (ARRAY(SELECT session_id FROM old))
       ), s AS (DELETE FROM ${views}.sessions WHERE session_id = ANY (ARRAY(SELECT session_id FROM old)) RETURNING 1)
       SELECT (SELECT count(*)::int FROM s) AS sessions, (SELECT count(*)::int FROM e) AS events`,
    );
    if (!row || row.sessions === 0) throw new Error('there are not enough sessions to delete');
    sessions += row.sessions;
    events += row.events;
  }
  let ms = 0;
  for (const table of tables) ms += await vacuum(long, table);
  return ms / sessions;
}
