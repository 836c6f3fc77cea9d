import type { RecordedEvent } from '@angelia/contracts';
import { textArray } from '../connection/binary-array.ts';
import type { Lane, Statement } from '../connection/database.ts';
import type { EventLog } from '../event-log.ts';
import { StreamReader } from '../read/stream-reader.ts';
import { forgetSendTurns } from '../send-rates/send-rates.ts';
import { clearAbandonedBuilds } from './rebuild.ts';

export interface PruneOptions {
  readonly log: EventLog;
  /** Sessions that ended longer ago than this. */
  readonly olderThanDays: number;
  readonly signal?: AbortSignal;
  /** Called with all events of a session before it goes; what it throws stops the pruning. Once more after a crash. */
  readonly beforeDelete?: (sessions: readonly (readonly RecordedEvent[])[]) => Promise<void>;
}

export interface Pruned {
  readonly sessions: number;
  readonly keys: number;
}

/**
 * A writing transaction hides the tail from everybody while it runs: 50 sessions of some ten events are a few
 * milliseconds. The pause between batches leaves the disk to whoever else wants it.
 */
const BATCH = 50;
const PAUSE_MS = 20;
/** Of key streams, which have an event or two. */
const KEY_BATCH = 200;
/** Of one statement: some milliseconds, as above. */
const SUPERSEDED_BATCH = 1_000;

/** In the order of ids, which is that of time: what is too young or still at work is passed over, not waited for. */
const CANDIDATES: Statement = {
  name: 'prune_candidates',
  text: `SELECT s.session_id, s.settled AND s.ended_at < now() - make_interval(secs => $2::float8 * 86400)
         FROM angelia.sessions s WHERE s.session_id > $1 ORDER BY s.session_id LIMIT ${BATCH * 4}`,
};
const UNFINISHED_BUILD: Statement = {
  name: 'unfinished_build',
  text: 'SELECT 1 FROM angelia.view_builds WHERE NOT active',
};
const PRUNE: Statement = {
  name: 'prune',
  text: 'SELECT gone FROM angelia.prune($1::text[], now() - make_interval(secs => $2::float8 * 86400))',
};
const ERASE: Statement = { name: 'erase', text: 'SELECT gone FROM angelia.prune($1::text[], NULL)' };
const KEYS: Statement = {
  name: 'prune_key_candidates',
  // `.` is the character behind `-`: all streams of keys, and nothing else.
  text: `SELECT DISTINCT e.stream_id FROM angelia.events e
         WHERE e.stream_id > $1 AND e.stream_id >= 'key-' AND e.stream_id < 'key.'
         ORDER BY e.stream_id LIMIT ${KEY_BATCH}`,
};
/**
 * Of a key's events only the last counts. One that is in use all the time never loses its last session, so that the
 * others would pile up for ever. Below the head nobody appends: no lock is needed.
 */
const SUPERSEDED: Statement = {
  name: 'prune_superseded_keys',
  text: `WITH gone AS (
           DELETE FROM angelia.events e USING (
             SELECT o.stream_id, o.version FROM angelia.events o
             WHERE o.stream_id = ANY ($1::text[])
               AND o.version < (
                 SELECT h.version FROM angelia.events h WHERE h.stream_id = o.stream_id ORDER BY h.version DESC LIMIT 1)
               AND NOT EXISTS (
                 SELECT FROM angelia.checkpoints c WHERE (o.epoch, o.tx, o.position) > (c.epoch, c.tx, c.position))
             LIMIT ${SUPERSEDED_BATCH}) old
           WHERE e.stream_id = old.stream_id AND e.version = old.version
           RETURNING 1)
         SELECT count(*)::int FROM gone`,
};
const PRUNE_KEYS: Statement = { name: 'prune_keys', text: 'SELECT gone FROM angelia.prune_keys($1::text[])' };

/** Everything that has had its time (invariant bounded), in small batches. May be stopped and begun again at any time. */
export async function pruneSessions(options: PruneOptions): Promise<Pruned> {
  const { log, olderThanDays, signal, beforeDelete } = options;
  const lane = log.database.pruner;
  const streams = new StreamReader(log.database.relaxed);
  let sessions = 0;
  const unfinished = await log.database.relaxed.query(UNFINISHED_BUILD, []);
  if (unfinished.length > 0) await clearAbandonedBuilds(log.database.url);
  for (let after = ''; !signal?.aborted; ) {
    const rows = await log.database.relaxed.query(CANDIDATES, [after, olderThanDays]);
    const due = rows.filter((row) => row[1] === true).map((row) => row[0] as string);
    for (let at = 0; at < due.length && !signal?.aborted; at += BATCH) {
      const batch = due.slice(at, at + BATCH);
      if (beforeDelete) {
        await beforeDelete(
          await Promise.all(batch.map((streamId) => streams.read({ streamId, fromVersion: 1 }))),
        );
      }
      sessions += (await gone(lane, PRUNE, [textArray(batch), olderThanDays])).length;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    const last = rows.at(-1);
    if (last === undefined) break;
    after = last[0] as string;
  }
  if (!signal?.aborted) await forgetSendTurns(log.database.relaxed);
  return { sessions, keys: signal?.aborted ? 0 : await pruneKeys(lane, signal) };
}

/** One session at once, whatever its age; false: it is still at work, or the views have not come past it yet. */
export async function eraseSession(log: EventLog, sessionId: string): Promise<boolean> {
  const lane = log.database.pruner;
  const erased = (await gone(lane, ERASE, [textArray([sessionId])])).length > 0;
  return erased;
}

async function pruneKeys(lane: Lane, signal: AbortSignal | undefined): Promise<number> {
  let pruned = 0;
  for (let after = ''; !signal?.aborted; ) {
    const rows = await lane.query(KEYS, [after]);
    if (rows.length === 0) break;
    const ids = rows.map((row) => row[0] as string);
    pruned += (await gone(lane, PRUNE_KEYS, [textArray(ids)])).length;
    while (!signal?.aborted && (await supersededGone(lane, ids)) === SUPERSEDED_BATCH);
    after = ids.at(-1) as string;
  }
  return pruned;
}

async function supersededGone(lane: Lane, ids: readonly string[]): Promise<number> {
  return (await lane.query(SUPERSEDED, [textArray(ids)]))[0]?.[0] as number;
}

async function gone(lane: Lane, statement: Statement, values: readonly unknown[]): Promise<string[]> {
  return ((await lane.query(statement, values))[0]?.[0] as string[] | undefined) ?? [];
}
