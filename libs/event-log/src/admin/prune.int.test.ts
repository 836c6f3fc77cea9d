import { hash, randomUUID } from 'node:crypto';
import { appendFile, chown, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { eventually } from '@angelia/testkit';
import { WakeUp } from '@angelia/waiting';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type EventLog, openEventLog } from '../event-log.ts';
import { runRelay } from '../relay/relay.ts';
import { countingProjection } from '../testing/counting-projection.ts';
import { appendTo, someEvent } from '../testing/some-events.ts';
import { createTestDatabase, type TestDatabase } from '../testing/test-database.ts';
import { runProjection } from '../views/projection.ts';
import { exportTo, importArchive } from './archive.ts';
import { eraseSession, pruneSessions } from './prune.ts';
import { REBUILD_LOCK, rebuildViews } from './rebuild.ts';

let database: TestDatabase;
let log: EventLog;
let stops: (() => Promise<void>)[];

beforeEach(async () => {
  database = await createTestDatabase();
  log = openEventLog({ url: database.url, instance: 'test', holder: 'test#1' });
  stops = [];
});
afterEach(async () => {
  for (const stop of stops) await stop();
  await log.close();
  await database.drop();
});

function readers(...which: ('projection' | 'relay')[]) {
  const stopping = new AbortController();
  const options = { log, leadEpoch: 1, signal: stopping.signal };
  const running = which.map((one) =>
    one === 'relay'
      ? runRelay({ ...options, wake: new WakeUp(), publish: async () => {} })
      : runProjection({ ...options, wake: new WakeUp(), project: countingProjection }),
  );
  const stop = async () => {
    stopping.abort();
    await Promise.all(running);
  };
  stops.push(stop);
  return stop;
}

/** Begins with its time, as the ids of sessions do (UUID v7). */
function idOf(daysAgo: number): string {
  const ms = Math.floor(Date.now() - daysAgo * 86_400_000);
  const hex = ms.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7${randomUUID().slice(15)}`;
}

/** Its id is as old as those of sessions that `ageOfViews` makes old enough. */
async function session(ended = true, daysAgo = 91): Promise<string> {
  const id = idOf(daysAgo);
  await log.append({
    ...appendTo(id, 0, [someEvent('session.created', { route: 'r' }), someEvent('turn.requested')]),
    key: { key: `webhook:r:${id}`, keepSeconds: 604_800 },
  });
  await log.append(appendTo(id, 2, [someEvent('process.started'), someEvent('session.final-response')]));
  if (ended) await log.append(appendTo(id, 4, [someEvent('session.ended')]));
  return id;
}

const ageOfViews = (days: number) =>
  database.query(`UPDATE angelia_views_1.sessions SET ended_at = ended_at - interval '${days} days'`);

/** Both readers have passed everything that was appended. */
const caughtUp = async () => {
  const [last] = await database.query<{ position: string }>(
    'SELECT max(position) AS position FROM angelia.events',
  );
  await eventually(async () => {
    const places = await database.query<{ position: string }>('SELECT position FROM angelia.checkpoints');
    return places.every(({ position }) => Number(position) >= Number(last?.position));
  });
};

/** The state that a rebuild leaves before it reads anything. */
const begunRebuild = async () => {
  await database.query('INSERT INTO angelia.view_builds (build, active) VALUES (7, false)');
  await database.query("INSERT INTO angelia.checkpoints (name) VALUES ('views:7')");
  await database.query('CREATE SCHEMA angelia_views_7 AUTHORIZATION angelia_migrator');
};

const versionsOf = async (stream: string) =>
  (
    await database.query<{ version: number }>(
      `SELECT version FROM angelia.events WHERE stream_id = '${stream}' ORDER BY version`,
    )
  ).map(({ version }) => version);

const left = async () => ({
  events: (await database.query('SELECT DISTINCT stream_id FROM angelia.events'))
    .map((r) => r.stream_id)
    .sort(),
  sessions: (await database.query('SELECT session_id FROM angelia.sessions')).map((r) => r.session_id).sort(),
  deliveries: (await database.query('SELECT session_id FROM angelia.deliveries')).length,
  processes: (await database.query('SELECT session_id FROM angelia.processes')).length,
});

describe('pruning', () => {
  it('deletes what ended long ago from log and views, and nothing else', async () => {
    readers('projection', 'relay');
    const old = await Promise.all(Array.from({ length: 120 }, () => session()));
    const open = await session(false);
    await caughtUp();
    await ageOfViews(91);
    const young = await session(true, 0);
    await caughtUp();
    expect(await pruneSessions({ log, olderThanDays: 90 })).toEqual({ sessions: 120, keys: 0 });
    const kept = [open, young].sort();
    expect(await left()).toEqual({ events: kept, sessions: kept, deliveries: 2, processes: 2 });
    // A repeated webhook is still recognised.
    expect(await log.streams.findByKey(`webhook:r:${old[0]}`)).toBe(old[0]);
  });

  it('does not even look at sessions that were created within the retention', async () => {
    readers('projection', 'relay');
    const [old, young] = [await session(true, 91), await session(true, 89)];
    await caughtUp();
    // Nobody ends before it begins: a pass that reads this row is one that reads the whole table.
    await ageOfViews(91);
    expect(await pruneSessions({ log, olderThanDays: 90 })).toEqual({ sessions: 1, keys: 0 });
    expect(await log.streams.read(old)).toEqual([]);
    expect((await left()).events).toEqual([young]);
  });

  it.each(['relay', 'projection'] as const)('waits for the checkpoint of the %s', async (behind) => {
    const stop = readers('projection', 'relay');
    const before = await session();
    await caughtUp();
    await stop();
    readers(behind === 'relay' ? 'projection' : 'relay');
    const id = await session();
    if (behind === 'relay') await eventually(async () => (await left()).sessions.includes(id));
    await ageOfViews(91);
    expect((await pruneSessions({ log, olderThanDays: 90 })).sessions).toBe(1);
    expect((await left()).events).toEqual([id]);
    expect(await log.streams.read(before)).toEqual([]);
  });

  it('keeps a session that got an event since', async () => {
    const stop = readers('projection', 'relay');
    const id = await session();
    await caughtUp();
    await stop();
    await ageOfViews(91);
    await log.append(appendTo(id, 5, [someEvent('delivery.retry-requested')]));
    expect((await pruneSessions({ log, olderThanDays: 90 })).sessions).toBe(0);
    expect(await log.streams.read(id)).toHaveLength(6);
  });

  it('waits for a running rebuild, which would bring rows back', async () => {
    readers('projection', 'relay');
    await session();
    await caughtUp();
    await ageOfViews(91);
    const rebuild = new pg.Client({ connectionString: database.url });
    await rebuild.connect();
    try {
      await rebuild.query(`SELECT pg_advisory_lock(${REBUILD_LOCK})`);
      await begunRebuild();
      expect((await pruneSessions({ log, olderThanDays: 90 })).sessions).toBe(0);
    } finally {
      await rebuild.end();
    }
  });

  it('is not blocked for ever by a killed rebuild, and drops its build', async () => {
    readers('projection', 'relay');
    await session();
    await caughtUp();
    await ageOfViews(91);
    await begunRebuild();
    expect((await pruneSessions({ log, olderThanDays: 90 })).sessions).toBe(1);
    expect(await database.query('SELECT build, active FROM angelia.view_builds')).toEqual([
      { build: 1, active: true },
    ]);
    expect(await database.query("SELECT FROM pg_namespace WHERE nspname = 'angelia_views_7'")).toEqual([]);
  });

  it('leaves no trace in views that are rebuilt after it', async () => {
    readers('projection', 'relay');
    await session();
    await caughtUp();
    await ageOfViews(91);
    const kept = await session();
    await caughtUp();
    await pruneSessions({ log, olderThanDays: 90 });
    await rebuildViews({ url: database.url, project: countingProjection });
    expect((await left()).sessions).toEqual([kept]);
  });

  it('deletes the stream of a key with the last session under it', async () => {
    readers('projection', 'relay');
    const [gone, kept] = [await session(), await session(false)];
    await log.append(appendTo('key-a', 0, [someEvent('key.session-opened', { session_id: gone })]));
    await log.append(
      appendTo('key-b', 0, [
        someEvent('key.session-opened', { session_id: gone }),
        someEvent('key.session-opened', { session_id: kept }),
      ]),
    );
    await log.append(appendTo('routes', 0));
    await caughtUp();
    await ageOfViews(91);
    expect(await pruneSessions({ log, olderThanDays: 90 })).toEqual({ sessions: 1, keys: 1 });
    expect((await left()).events).toEqual([kept, 'key-b', 'routes'].sort());
  });

  it('keeps only the last event of a key that is in constant use, and the key goes on', async () => {
    const stop = readers('projection', 'relay');
    const kept = await session(false);
    const opened = someEvent('key.session-opened', { session_id: kept });
    for (let version = 0; version < 3; version += 1) await log.append(appendTo('key-c', version, [opened]));
    await caughtUp();
    await stop();
    // No reader has passed this one: it stays, and so does what it replaced.
    await log.append(appendTo('key-c', 3, [opened]));
    await log.append(appendTo('key-c', 4, [opened]));
    await pruneSessions({ log, olderThanDays: 90 });
    expect(await versionsOf('key-c')).toEqual([4, 5]);

    readers('projection', 'relay');
    await caughtUp();
    await pruneSessions({ log, olderThanDays: 90 });
    expect(await versionsOf('key-c')).toEqual([5]);
    expect(await log.append(appendTo('key-c', 5, [opened]))).toMatchObject({ status: 'appended' });
  });

  it('keeps the last offset of a connection to a chat platform, although no session belongs to it', async () => {
    readers('projection', 'relay');
    const offset = (n: number) => [someEvent('key.chat-offset', { offset: String(n) })];
    for (let version = 0; version < 3; version += 1)
      await log.append(appendTo('chat-offset-a', version, offset(version)));
    await caughtUp();
    await pruneSessions({ log, olderThanDays: 90 });
    expect(await versionsOf('chat-offset-a')).toEqual([3]);
  });

  it('removes pairings of chats that let nobody in any more, and keeps those that do', async () => {
    readers('projection', 'relay');
    const append = (stream: string, ...of: readonly (readonly [event: string, pairing: string])[]) =>
      log.append(
        appendTo(
          stream,
          0,
          of.map(([event, id]) => someEvent(`pairing.${event}`, { pairing_id: id })),
        ),
      );
    await append(
      'chat-pairings-home',
      ...(['revoked', 'unused', 'in use'].map((id) => ['offered', id]) as [string, string][]),
      ...([
        ['accepted', 'revoked'],
        ['accepted', 'in use'],
        ['revoked', 'revoked'],
      ] as const),
      ['offered', 'new'],
    );
    await append('chat-pairings-team', ['offered', 'gone'], ['revoked', 'gone']);
    await caughtUp();
    await pruneSessions({ log, olderThanDays: 90 });
    expect(await versionsOf('chat-pairings-home')).toHaveLength(7);
    await database.query(`UPDATE angelia.events SET recorded_at = recorded_at - interval '91 days'
      WHERE stream_id LIKE 'chat-pairings-%' AND version < 7`);
    await pruneSessions({ log, olderThanDays: 90 });
    expect(await versionsOf('chat-pairings-home')).toEqual([3, 5, 7]);
    // The last event of a stream stays: the next one is appended behind it.
    expect(await versionsOf('chat-pairings-team')).toEqual([2]);
  });

  describe('of many keys', () => {
    /** The streams of 1,000 keys, named as keys are, whose last session is this one. */
    const keysOf = async (id: string) => {
      const opened = () => [someEvent('key.session-opened', { session_id: id })];
      const keys = Array.from({ length: 1_000 }, (_, n) => `key-${hash('sha256', `${id} ${n}`)}`);
      await Promise.all(keys.map((key) => log.append(appendTo(key, 0, opened()))));
      await caughtUp();
      return keys;
    };
    /** How many keys the next passes look at. */
    const lookedAt = () => {
      const pool = log.database.pruner;
      const query = pool.query.bind(pool);
      const seen = { keys: 0 };
      pool.query = async (statement, values) => {
        const rows = await query(statement, values);
        if (statement.name === 'prune_key_candidates') seen.keys += rows.length;
        return rows;
      };
      return seen;
    };

    it('looks at a sample while all of them are in use', async () => {
      readers('projection', 'relay');
      await keysOf(await session(false));
      const seen = lookedAt();
      expect(await pruneSessions({ log, olderThanDays: 90 })).toEqual({ sessions: 0, keys: 0 });
      expect(seen.keys).toBeGreaterThanOrEqual(200);
      expect(seen.keys).toBeLessThan(400);
    });

    it('goes on while many are of no use, until all of those are gone', async () => {
      readers('projection', 'relay');
      await keysOf(await session());
      await ageOfViews(91);
      expect(await pruneSessions({ log, olderThanDays: 90 })).toEqual({ sessions: 1, keys: 1_000 });
      expect((await left()).events).toEqual([]);
    });
  });

  it('is the only work that may delete events', async () => {
    await session();
    await expect(
      log.database.durable.query({ name: 'x', text: 'DELETE FROM angelia.events' }, []),
    ).rejects.toThrow(/permission denied/);
  });
});

describe('erasing one session', () => {
  it('deletes it at once, however young, unless it is still at work', async () => {
    readers('projection', 'relay');
    const [ended, open] = [await session(), await session(false)];
    await caughtUp();
    expect(await eraseSession(log, open)).toBe(false);
    expect(await eraseSession(log, ended)).toBe(true);
    expect(await eraseSession(log, ended)).toBe(false);
    expect((await left()).events).toEqual([open]);
  });
});

describe('an export', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'angelia-export-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  const pruneAll = (beforeDelete = exportTo(directory)) =>
    pruneSessions({ log, olderThanDays: 1e-9, beforeDelete });

  it('is written before anything is deleted, and brings back the same', async () => {
    readers('projection', 'relay');
    const ids = await Promise.all(Array.from({ length: 70 }, () => session()));
    await caughtUp();
    const before = await Promise.all(ids.map((id) => log.streams.read(id)));
    expect((await pruneAll()).sessions).toBe(70);
    const files = await readdir(directory);
    expect(files).toEqual([`sessions-${new Date().toISOString().slice(0, 10)}.jsonl.gz`]);
    const path = join(directory, files[0] ?? '');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await importArchive(log, path)).toEqual({ sessions: 70, events: 350 });
    const withoutPlace = (streams: unknown[][]) =>
      streams.map((events) => events.map((event) => ({ ...(event as object), position: 0 })));
    expect(withoutPlace(await Promise.all(ids.map((id) => log.streams.read(id))))).toEqual(
      withoutPlace(before),
    );
    // It is stored once, however often it is read, and the views show it again.
    expect(await importArchive(log, path)).toEqual({ sessions: 0, events: 0 });
    await eventually(async () => (await left()).sessions.length === 70);
  });

  it('has no thoughts of models, unless they are asked for', async () => {
    const id = await session();
    const events = await log.streams.read(id);
    const thinking = {
      ...(events[0] as (typeof events)[number]),
      type: 'model.responded',
      data: { step: 1, text: 'said', reasoning: { of: 'p/m', data: '"thought"' } },
    };
    const written = async (name: string, options?: { withThoughts: boolean }) => {
      await exportTo(join(directory, name), options)([[thinking]]);
      const [file = ''] = await readdir(join(directory, name));
      return gunzipSync(await readFile(join(directory, name, file))).toString();
    };
    expect(await written('plain')).toContain('said');
    expect(await written('plain')).not.toContain('thought');
    expect(await written('asked', { withThoughts: true })).toContain('thought');
  });

  it('has the owner of its directory, because services of several users may write to it', async () => {
    const somebody = process.getuid?.() === 0 ? 54_321 : (process.getuid?.() ?? 0);
    await chown(directory, somebody, somebody);
    const id = await session();
    await exportTo(directory)([await log.streams.read(id)]);
    const [file = ''] = await readdir(directory);
    expect((await stat(join(directory, file))).uid).toBe(somebody);
  });

  it('that cannot be written deletes nothing', async () => {
    readers('projection', 'relay');
    const id = await session();
    await caughtUp();
    await writeFile(join(directory, 'file'), '');
    await expect(pruneAll(exportTo(join(directory, 'file', 'below')))).rejects.toThrow();
    expect(await log.streams.read(id)).toHaveLength(5);
  });

  it('that was written twice, because of a crash before the deletion, is read once', async () => {
    readers('projection', 'relay');
    const id = await session();
    await caughtUp();
    await exportTo(directory)([await log.streams.read(id)]);
    await pruneAll();
    const path = join(directory, (await readdir(directory))[0] ?? '');
    expect(await importArchive(log, path)).toEqual({ sessions: 1, events: 5 });
  });

  it('that is cut off, or is not an export, is refused with the place', async () => {
    readers('projection', 'relay');
    const id = await session();
    await caughtUp();
    await pruneAll();
    const path = join(directory, (await readdir(directory))[0] ?? '');
    const whole = await readFile(path);
    await writeFile(path, whole.subarray(0, whole.length - 20));
    await expect(importArchive(log, path)).rejects.toMatchObject({ code: 'unreadable_archive' });
    expect(await log.streams.read(id)).toEqual([]);
    await writeFile(path, whole);
    await appendFile(path, 'no gzip');
    await expect(importArchive(log, path)).rejects.toMatchObject({ code: 'unreadable_archive' });
    await expect(importArchive(log, join(directory, 'none.gz'))).rejects.toMatchObject({
      code: 'unreadable_archive',
      message: expect.stringMatching(/none\.gz cannot be read \(ENOENT\)/),
    });
  });
});
