import { randomBytes } from 'node:crypto';
import { JOB_STREAMS, type RecordedEvent } from '@angelia/contracts';
import { pause } from '@angelia/waiting';
import { textArray } from '../connection/binary-array.ts';
import type { ConnectionPool, Statement } from '../connection/connection-pool.ts';
import { queries } from '../connection/query-builder.ts';
import type { EventLog } from '../event-log.ts';
import { StreamReader } from '../read/stream-reader.ts';
import { clearAbandonedBuilds } from './rebuild.ts';

interface PruneOptions {
  readonly log: EventLog;
  /** Sessions that ended longer ago than this. */
  readonly olderThanDays: number;
  readonly signal?: AbortSignal;
  /** Called with all events of the sessions before they are deleted. If it throws, pruning stops. After a crash it is called again. */
  readonly beforeDelete?: (sessions: readonly (readonly RecordedEvent[])[]) => Promise<void>;
}

export interface Pruned {
  readonly sessions: number;
  readonly keys: number;
}

/**
 * A writing transaction hides the tail from everybody while it runs: 50 sessions of some ten events take a few
 * milliseconds. The pause between batches leaves the disk to others.
 */
const BATCH = 50;
const PAUSE_MS = 20;
/** Key streams have an event or two. */
const KEY_BATCH = 200;
/**
 * A pass looks at one batch of keys at least, and goes on while more than this share is of no use any more. So the cost is
 * that of what it finds, however many keys are in use, and at most about a quarter of the keys is waiting to be found.
 */
const USELESS_SHARE = 1 / 4;
/** Per statement: some milliseconds, as above. */
const SUPERSEDED_BATCH = 1_000;

/**
 * In the order of ids, which is the order of time: an id begins with the milliseconds of its creation in hex (UUID v7). What
 * was created later than the cutoff cannot have ended before it, so a pass reads what is due and the few old sessions that
 * are still at work, not the whole log. If the clock of an ingress was ahead, its sessions go that much later.
 */
const CANDIDATES: Statement = {
  name: 'prune_candidates',
  text: `SELECT s.session_id, s.settled AND s.ended_at < c.cutoff
         FROM (SELECT now() - make_interval(secs => $2::float8 * 86400) AS cutoff) c,
           LATERAL (SELECT lpad(to_hex((date_part('epoch', c.cutoff) * 1000)::bigint), 12, '0') AS ms) h,
           angelia.sessions s
         WHERE s.session_id > $1 AND s.session_id < substr(h.ms, 1, 8) || '-' || substr(h.ms, 9)
         ORDER BY s.session_id LIMIT ${BATCH * 4}`,
};
const UNFINISHED_BUILD = queries
  .selectFrom('angelia.view_builds')
  .select('build')
  .where((where) => where.not('active'));
const PRUNE: Statement = {
  name: 'prune',
  text: 'SELECT gone FROM angelia.prune($1::text[], now() - make_interval(secs => $2::float8 * 86400))',
};
const ERASE: Statement = { name: 'erase', text: 'SELECT gone FROM angelia.prune($1::text[], NULL)' };
const KEYS: Statement = {
  name: 'prune_key_candidates',
  text: `SELECT DISTINCT e.stream_id FROM angelia.events e
         WHERE e.stream_id > $1 AND e.stream_id < $2 ORDER BY e.stream_id LIMIT ${KEY_BATCH}`,
};
/**
 * Only the last event of a key counts. A key that is in constant use never loses its last session, so the earlier events
 * would pile up for ever. Nobody appends below the head, so no lock is needed.
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
/** Jobs that were over for as long as sessions are kept, and that every reader of the tail has passed. */
const PRUNE_JOBS: Statement = {
  name: 'prune_jobs',
  text: `WITH old AS (
           SELECT f.stream_id FROM angelia.events f
           WHERE f.stream_id >= '${JOB_STREAMS[0]}' AND f.stream_id < '${JOB_STREAMS[1]}' AND f.version = 1
             AND f.recorded_at < now() - make_interval(secs => $1::float8 * 86400)
             AND EXISTS (
               SELECT FROM (SELECT h.type, h.recorded_at, h.epoch, h.tx, h.position FROM angelia.events h
                            WHERE h.stream_id = f.stream_id ORDER BY h.version DESC LIMIT 1) h
               WHERE h.type IN ('job.finished', 'job.cancelled')
                 AND h.recorded_at < now() - make_interval(secs => $1::float8 * 86400)
                 AND NOT EXISTS (
                   SELECT FROM angelia.checkpoints c WHERE (h.epoch, h.tx, h.position) > (c.epoch, c.tx, c.position)))
           LIMIT 1)
         DELETE FROM angelia.events e USING old WHERE e.stream_id = old.stream_id RETURNING 1`,
};
/** `chat-pairings-` of libs/contracts, and what comes after all of these streams. */
const [FIRST_PAIRINGS, AFTER_PAIRINGS] = ['chat-pairings-', 'chat-pairings.'] as const;
/**
 * Pairings of chats that no longer let anybody in: revoked, or offered and not accepted in time. Their names and ids are
 * personal data, so they are deleted after the time for which sessions are kept. The last event stays: it has the version of
 * the stream.
 */
const PRUNE_PAIRINGS: Statement = {
  name: 'prune_pairings',
  text: `WITH all_of_them AS (
           SELECT e.*, e.data->>'pairing_id' AS pairing, max(e.version) OVER (PARTITION BY e.stream_id) AS head
           FROM angelia.events e WHERE e.stream_id > '${FIRST_PAIRINGS}' AND e.stream_id < '${AFTER_PAIRINGS}'),
         over AS (
           SELECT stream_id, pairing FROM all_of_them GROUP BY stream_id, pairing
           HAVING (bool_or(type = 'pairing.revoked') OR NOT bool_or(type = 'pairing.accepted'))
             AND max(recorded_at) < now() - make_interval(secs => $1::float8 * 86400))
         DELETE FROM angelia.events e USING all_of_them a JOIN over USING (stream_id, pairing)
         WHERE e.stream_id = a.stream_id AND e.version = a.version AND a.version < a.head
           AND NOT EXISTS (
             SELECT FROM angelia.checkpoints c WHERE (a.epoch, a.tx, a.position) > (c.epoch, c.tx, c.position))
         RETURNING 1`,
};
const PRUNE_KEYS: Statement = { name: 'prune_keys', text: 'SELECT gone FROM angelia.prune_keys($1::text[])' };

/** Deletes everything past its retention (invariant bounded), in small batches. May be stopped and started again at any time. */
export async function pruneSessions(options: PruneOptions): Promise<Pruned> {
  const { log, olderThanDays, signal, beforeDelete } = options;
  const pool = log.database.pruner;
  const streams = new StreamReader(log.database.relaxed);
  let sessions = 0;
  if (await isRebuilding(log)) await clearAbandonedBuilds(log.database.url);
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
      sessions += (await deleted(pool, PRUNE, [textArray(batch), olderThanDays])).length;
      await pause(PAUSE_MS);
    }
    const last = rows.at(-1);
    if (last === undefined) break;
    after = last[0] as string;
  }
  if (!signal?.aborted) await log.sendRates.forgetOld();
  // One job at a time: it may have thousands of events.
  while (!signal?.aborted && (await pool.query(PRUNE_JOBS, [olderThanDays])).length > 0)
    await pause(PAUSE_MS);
  await pruneChatOffsets(pool, signal);
  // All at once: a code is made by a person.
  if (!signal?.aborted) await pool.query(PRUNE_PAIRINGS, [olderThanDays]);
  return { sessions, keys: await pruneKeys(pool, signal) };
}

/** Deletes one session at once, whatever its age. False: it is still at work, or the views have not passed it yet. */
export async function eraseSession(log: EventLog, sessionId: string): Promise<boolean> {
  const pool = log.database.pruner;
  return (await deleted(pool, ERASE, [textArray([sessionId])])).length > 0;
}

/** While views are rebuilt, nothing is pruned or erased. */
export async function isRebuilding(log: EventLog): Promise<boolean> {
  return (await log.database.relaxed.run(UNFINISHED_BUILD)).length > 0;
}

/** `.` is the character after `-`: between the two are all streams of keys and nothing else. */
const [FIRST_KEY, AFTER_KEYS] = ['key-', 'key.'] as const;

/**
 * Their names are hashes: the next keys from a random place are a fair sample, and no pass has to know where the last one,
 * perhaps of another process, stopped.
 */
async function pruneKeys(pool: ConnectionPool, signal: AbortSignal | undefined): Promise<number> {
  const start = `${FIRST_KEY}${randomBytes(8).toString('hex')}`;
  let pruned = 0;
  let superseded = 0;
  let seen = 0;
  const worthwhile = () => seen < KEY_BATCH || pruned + superseded > seen * USELESS_SHARE;
  for (const [from, to] of [
    [start, AFTER_KEYS],
    [FIRST_KEY, start],
  ] as const) {
    for (let after: string = from; worthwhile() && !signal?.aborted; ) {
      const ids = (await pool.query(KEYS, [after, to])).map((row) => row[0] as string);
      const last = ids.at(-1);
      if (last === undefined) break;
      pruned += (await deleted(pool, PRUNE_KEYS, [textArray(ids)])).length;
      superseded += await deleteSuperseded(pool, ids, signal);
      seen += ids.length;
      after = last;
    }
  }
  return pruned;
}

/** One stream per connection to a chat platform: of them the last event counts, and stays for ever. */
const [FIRST_OFFSET, AFTER_OFFSETS] = ['chat-offset-', 'chat-offset.'] as const;

async function pruneChatOffsets(pool: ConnectionPool, signal: AbortSignal | undefined): Promise<void> {
  for (let after: string = FIRST_OFFSET; !signal?.aborted; ) {
    const ids = (await pool.query(KEYS, [after, AFTER_OFFSETS])).map((row) => row[0] as string);
    const last = ids.at(-1);
    if (last === undefined) return;
    await deleteSuperseded(pool, ids, signal);
    after = last;
  }
}

async function deleteSuperseded(
  pool: ConnectionPool,
  ids: readonly string[],
  signal: AbortSignal | undefined,
): Promise<number> {
  let rows = 0;
  while (!signal?.aborted) {
    const some = (await pool.query(SUPERSEDED, [textArray(ids)]))[0]?.[0] as number;
    rows += some;
    if (some < SUPERSEDED_BATCH) break;
  }
  return rows;
}

async function deleted(
  pool: ConnectionPool,
  statement: Statement,
  values: readonly unknown[],
): Promise<string[]> {
  return ((await pool.query(statement, values))[0]?.[0] as string[] | undefined) ?? [];
}
