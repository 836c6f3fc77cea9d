import { randomUUID } from 'node:crypto';
import { eventually } from '@angelia/testkit';
import { pause } from '@angelia/waiting';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import { type EventLog, openEventLog } from '../event-log.ts';
import { appendTo, someEvent } from '../testing/some-events.ts';
import { createTestDatabase, type TestDatabase } from '../testing/test-database.ts';
import { TAIL_START, type TailCursor } from './tail.ts';

let database: TestDatabase;
const logs: EventLog[] = [];

function open(): EventLog {
  const log = openEventLog({
    url: database.url,
    instance: `writer-${logs.length}`,
    holder: `writer-${logs.length}#1`,
  });
  logs.push(log);
  return log;
}

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => {
  await Promise.all(logs.map((log) => log.close()));
  await database.drop();
});

const WRITERS = 16;
const APPENDS = 10_000;
const STREAMS = 120;

it('16 writers, 10,000 appends, slow transactions in between: every event once, versions in order', async () => {
  const streams = Array.from({ length: STREAMS }, () => randomUUID());
  const reader = open();
  const working = new AbortController();
  let slowStreams: string[] | undefined;

  const seen: { streamId: string; version: number; eventId: string }[] = [];
  const reading = (async () => {
    let cursor: TailCursor = TAIL_START;
    // Transaction ids belong to the cluster: another test's open transaction hides ours too, so read until all are here.
    for (let written = Number.POSITIVE_INFINITY; seen.length < written; ) {
      const page = await reader.tail.read(cursor, 500, { data: false });
      for (const { streamId, version, eventId } of page.events) seen.push({ streamId, version, eventId });
      cursor = page.next;
      if (page.events.length > 0) continue;
      if (slowStreams !== undefined) written = await countEvents();
      await pause(2);
    }
  })();

  const slow = [slowWriter(working.signal), slowWriter(working.signal), idleHolder(working.signal)];

  let left = APPENDS;
  const heads = new Map<string, number>();
  const writeWith = async (log: EventLog) => {
    while (left > 0) {
      left -= 1;
      const streamId = streams[Math.floor(Math.random() * STREAMS)] as string;
      const events = Math.random() < 0.2 ? [someEvent(), someEvent(), someEvent()] : [someEvent()];
      for (let done = false; !done; ) {
        const result = await log.append(appendTo(streamId, heads.get(streamId) ?? 0, events));
        if (result.status !== 'appended' && result.status !== 'conflict') throw new Error(result.status);
        const version = result.streams[0]?.version ?? 0;
        if (version > (heads.get(streamId) ?? 0)) heads.set(streamId, version);
        done = result.status === 'appended';
      }
    }
  };
  const writers = Array.from({ length: WRITERS }, open);
  await Promise.all(writers.flatMap((log) => Array.from({ length: 6 }, () => writeWith(log))));
  working.abort();
  slowStreams = (await Promise.all(slow)).flat();
  await reading;

  expect(new Set(seen.map((event) => event.eventId)).size).toBe(seen.length);
  expect(seen).toHaveLength(await countEvents());
  const versions = new Map<string, number>();
  for (const { streamId, version } of seen) {
    expect(version).toBe((versions.get(streamId) ?? 0) + 1);
    versions.set(streamId, version);
  }
  expect(slowStreams.length).toBeGreaterThan(2);
  for (const stream of slowStreams) expect(versions.get(stream)).toBe(2);
});

async function countEvents(): Promise<number> {
  const rows = await database.query<{ count: string }>('SELECT count(*) FROM angelia.events');
  return Number(rows[0]?.count);
}

/** Takes its transaction id early, lets many others commit before it, writes, waits again, commits late. */
async function slowWriter(signal: AbortSignal): Promise<string[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const written: string[] = [];
  while (!signal.aborted || written.length < 2) {
    const streamId = randomUUID();
    await client.query('BEGIN');
    await client.query('SELECT pg_current_xact_id()');
    await pause(30 + Math.random() * 60);
    for (const version of [1, 2]) {
      await client.query(
        `INSERT INTO angelia.events (stream_id, version, type, schema_version, event_id, data, meta, epoch, recorded_at)
         VALUES ($1, $2, 'test.slow', 1, gen_random_uuid(), '{}', '{"actor":"slow"}', 1, clock_timestamp())`,
        [streamId, version],
      );
    }
    await pause(30 + Math.random() * 60);
    await client.query('COMMIT');
    written.push(streamId);
  }
  await client.end();
  return written;
}

/** A writing transaction of somebody else that has nothing to do with the log. */
async function idleHolder(signal: AbortSignal): Promise<string[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('CREATE TABLE foreign_work (n int)');
  while (!signal.aborted) {
    await client.query('BEGIN');
    await client.query('INSERT INTO foreign_work VALUES (1)');
    await pause(100);
    await client.query(Math.random() < 0.5 ? 'COMMIT' : 'ROLLBACK');
  }
  await client.end();
  return [];
}

it('an open transaction hides later events, health reports for how long, and its end shows them', async () => {
  const log = open();
  const stream = randomUUID();
  await log.append(appendTo(randomUUID(), 0));
  const end = await eventually(async () => {
    const visible = await log.tail.end();
    const rows = await database.query<{ last: string }>('SELECT max(position) AS last FROM angelia.events');
    return visible.position === Number(rows[0]?.last) ? visible : null;
  });
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('BEGIN');
  await client.query('SELECT pg_current_xact_id()');
  await log.append(appendTo(stream, 0));
  expect((await log.tail.read(end, 10, { data: true })).events).toEqual([]);
  await eventually(async () => (await log.status.health()).tailLagMs >= 50);
  await client.query('ROLLBACK');
  await client.end();
  const page = await eventually(async () => {
    const read = await log.tail.read(end, 10, { data: true });
    return read.events.length > 0 ? read : null;
  });
  expect(page.events).toMatchObject([{ streamId: stream, version: 1, data: {} }]);
  expect(await log.tail.end()).toEqual(page.next);
  await eventually(async () => (await log.status.health()).tailLagMs === 0);
});

it('a page within a number of bytes ends before it, has always one event, and misses none', async () => {
  const log = open();
  const start = await log.tail.end();
  const stream = randomUUID();
  // jsonb compresses what repeats, so the text must not.
  const long = Array.from({ length: 1_000 }, () => randomUUID()).join();
  const sizes = [10, 4_000, 10, 10, 30_000, 30_000, 10];
  for (const [version, size] of sizes.entries())
    await log.append(appendTo(stream, version, [someEvent('test.sized', { text: long.slice(0, size) })]));
  await eventually(
    async () => (await log.tail.read(start, 100, { data: false })).events.length >= sizes.length,
  );
  const pages: number[][] = [];
  for (let cursor = start; ; ) {
    const page = await log.tail.readWithin(cursor, 3, 6_000);
    if (page.events.length === 0) break;
    // Other tests of this file append beside it.
    pages.push(page.events.flatMap((event) => (event.streamId === stream ? [event.version] : [])));
    cursor = page.next;
  }
  expect(pages.filter((page) => page.length > 0)).toEqual([[1, 2, 3], [4], [5], [6], [7]]);
});

it('a place is past when everything before it is visible', async () => {
  const log = open();
  // An empty log has no end.
  await log.append(appendTo(randomUUID(), 0));
  const end = await eventually(async () => {
    const found = await log.tail.end();
    return found.epoch > TAIL_START.epoch && found;
  });
  expect(await log.tail.isPast(TAIL_START)).toBe(true);
  expect(await log.tail.isPast(end)).toBe(true);
  expect(await log.tail.isPast({ ...end, epoch: end.epoch + 1 })).toBe(false);
  expect(await log.tail.isPast({ ...end, tx: String(BigInt(end.tx) + 1_000_000n) })).toBe(false);
});

it.each(['auto', 'force_generic_plan'])(
  'the plans of an empty table (%s) are those of a large one',
  async (mode) => {
    const empty = await createTestDatabase();
    const options = encodeURIComponent(`-c plan_cache_mode=${mode}`);
    const log = openEventLog({
      url: `${empty.url}?options=${options}`,
      instance: 'plans',
      holder: 'plans#1',
    });
    const plans: string[] = [];
    try {
      const { relaxed } = log.database;
      const query = relaxed.query.bind(relaxed);
      // Explains what the log itself sends, with the log's own connection settings.
      relaxed.query = async (statement, values) => {
        const rows = await query({ name: '', text: `EXPLAIN ${statement.text}` }, values);
        plans.push(`${statement.name}:\n${rows.map((row) => row[0]).join('\n')}`);
        return query(statement, values);
      };
      await log.tail.read(TAIL_START, 100, { data: true });
      await log.tail.read(TAIL_START, 100, { data: false });
      await log.tail.readWithin(TAIL_START, 100, 1_000);
      await log.tail.end();
      await log.status.health();
    } finally {
      await log.close();
      await empty.drop();
    }
    expect(plans).toHaveLength(5);
    for (const plan of plans) {
      expect(plan).toMatch(/Index (Only )?Scan( Backward)? using events_tail/);
      expect(plan).not.toContain('Sort');
      expect(plan).not.toMatch(/Seq Scan on events/);
    }
  },
);
