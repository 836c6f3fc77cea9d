import { randomUUID } from 'node:crypto';
import { eventually } from '@angelia/testkit';
import { pause } from '@angelia/waiting';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import pg from 'pg';
import { type EventLog, openEventLog } from '../event-log.ts';
import { appendTo } from '../testing/some-events.ts';
import { createTestDatabase, type TestDatabase } from '../testing/test-database.ts';
import { runAgenda } from './agenda.ts';
import { hintAllUnsettled } from './rehint.ts';

let database: TestDatabase;
let log: EventLog;
let stops: (() => Promise<void>)[];

beforeEach(async () => {
  database = await createTestDatabase();
  stops = [];
  log = openEventLog({ url: database.url, instance: 'test', holder: 'test#1' });
  await database.query(
    "INSERT INTO angelia.leaders (name, holder, epoch, expires_at) VALUES ('test', 'test#1', 3, 'infinity')",
  );
});
afterEach(async () => {
  for (const stop of stops) await stop();
  await log.close();
  await database.drop();
});

interface Row {
  activeAgo?: number;
  runDue?: number;
  deliveryDue?: number;
  processDue?: number;
  running?: boolean;
  settled?: boolean;
}

/** A row of the view, times in seconds from now. */
async function session(row: Row): Promise<string> {
  const id = randomUUID();
  await database.query(
    `INSERT INTO angelia.sessions (session_id, version, route, status, created_at, last_activity_at, run_due_at, running,
       delivery_due_at, process_due_at, settled, state, agent, title, delivery_id, tokens)
     SELECT $1, 1, 'r', 'queued', now(), now() - make_interval(secs => $2), now() + make_interval(secs => $3), $4,
       now() + make_interval(secs => $5), now() + make_interval(secs => $6), $7, '{}', 'a', 't', 'd', 0`,
    [
      id,
      row.activeAgo ?? 0,
      row.runDue ?? null,
      row.running ?? false,
      row.deliveryDue ?? null,
      row.processDue ?? null,
      row.settled ?? false,
    ],
  );
  return id;
}

function agenda(options: { sweepSeconds?: number; leadEpoch?: number } = {}) {
  const hints: { owner: string; id: string }[] = [];
  const pages: { owner: string; size: number }[] = [];
  const stopping = new AbortController();
  const running = runAgenda({
    log,
    leadEpoch: options.leadEpoch ?? 3,
    signal: stopping.signal,
    sweepSeconds: options.sweepSeconds ?? 60,
    hint: async (owner, ids) => {
      hints.push(...ids.map((id) => ({ owner, id })));
      pages.push({ owner, size: ids.length });
    },
  });
  stops.push(async () => {
    stopping.abort();
    await running;
  });
  return { hints, pages, running };
}

it('a timer is hinted to its owner when it is due, not before and not twice', async () => {
  const retry = await session({ activeAgo: 5, deliveryDue: -1 });
  const deadline = await session({ activeAgo: 5, runDue: 0.8 });
  const later = await session({ activeAgo: 5, runDue: 3600 });
  const waiting = await session({ activeAgo: 5, processDue: -1 });
  const { hints } = agenda();
  await eventually(() => hints.length >= 3);
  await pause(2_200); // Two more passes, which must hint nothing.
  expect(hints).toHaveLength(3);
  expect(hints).toEqual(
    expect.arrayContaining([
      { owner: 'delivery', id: retry },
      { owner: 'process', id: waiting },
      { owner: 'run', id: deadline },
    ]),
  );
  expect(hints.map((hint) => hint.id)).not.toContain(later);
});

it('the next retry of the same delivery is a new timer, however soon it comes', async () => {
  const id = await session({ activeAgo: 5, deliveryDue: -1 });
  const { hints } = agenda();
  await eventually(() => hints.length === 1);
  await database.query(
    "UPDATE angelia.sessions SET last_activity_at = now(), delivery_due_at = now() + interval '0.2 s' WHERE session_id = $1",
    [id],
  );
  await eventually(() => hints.length === 2);
});

it('work that was due at once is hinted after sweepSeconds without progress, and again after as long', async () => {
  // Fresh for as long as the test needs, however slow the machine is.
  const fresh = await session({ activeAgo: -600, runDue: -1 });
  const stuck = await session({ activeAgo: 10, runDue: -10 });
  const { hints } = agenda({ sweepSeconds: 2 });
  await eventually(() => hints.length >= 2);
  expect(hints.slice(0, 2)).toEqual(Array(2).fill({ owner: 'run', id: stuck }));
  expect(hints.map(({ id }) => id)).not.toContain(fresh);
  await database.query(
    "UPDATE angelia.sessions SET last_activity_at = now() - interval '3 s' WHERE session_id = $1",
    [fresh],
  );
  await eventually(() => hints.some((hint) => hint.id === fresh));
});

it('a run without a live lease is hinted, one with a live lease is left alone', async () => {
  const held = await session({ activeAgo: 5, running: true });
  const expired = await session({ activeAgo: 5, running: true });
  const lost = await session({ activeAgo: 5, running: true });
  for (const id of [held, expired]) {
    await log.append({
      ...appendTo(id, 0),
      lease: { resource: `run:${id}`, holder: 'runner#1', seconds: 60 },
    });
  }
  await database.query("UPDATE angelia.leases SET expires_at = now() - interval '1 s' WHERE resource = $1", [
    `run:${expired}`,
  ]);
  const { hints } = agenda();
  await eventually(() => hints.length === 2);
  expect(new Set(hints.map((hint) => hint.id))).toEqual(new Set([expired, lost]));
});

it('what one pass cannot hint is hinted by the next passes', async () => {
  await database.query(
    `INSERT INTO angelia.sessions (session_id, version, route, status, created_at, last_activity_at, run_due_at, running, settled, state,
       agent, title, delivery_id, tokens)
     SELECT gen_random_uuid()::text, 1, 'r', 'queued', now(), now() - interval '1 h', now() - interval '1 h', false, false, '{}',
       'a', 't', 'd', 0
     FROM generate_series(1, 2300)`,
  );
  const { hints } = agenda();
  await eventually(() => hints.length === 2_300);
  expect(new Set(hints.map((hint) => hint.id)).size).toBe(2_300);
});

it('a pass does bounded work, however much is due: pages of 500, at most 2,000 of a kind', async () => {
  await database.query(
    `INSERT INTO angelia.sessions (session_id, version, route, status, created_at, last_activity_at, run_due_at, running,
       delivery_due_at, settled, state, agent, title, delivery_id, tokens)
     SELECT gen_random_uuid()::text, 1, 'r', 'queued', now(), now() - interval '1 h', now() - interval '1 h', false,
       now() - interval '1 h', false, '{}', 'a', 't', 'd', 0
     FROM generate_series(1, 2600)`,
  );
  const { pages } = agenda();
  const count = (owner: string) =>
    pages.filter((page) => page.owner === owner).reduce((sum, page) => sum + page.size, 0);
  await eventually(() => count('run') === 2_600 && count('delivery') === 2_600);
  expect(Math.max(...pages.map(({ size }) => size))).toBe(500);
  // The first pass also hints deliveries, before the second goes on with the runs.
  const order = pages.map(({ owner, size }) => `${owner} ${size}`);
  const [full, rest] = [(owner: string) => Array.from({ length: 4 }, () => `${owner} 500`), [500, 100]];
  expect(order).toEqual([
    ...full('run'),
    ...full('delivery'),
    ...rest.map((size) => `run ${size}`),
    ...rest.map((size) => `delivery ${size}`),
  ]);
});

it('live work is left alone: held, not due yet, waiting for its own time, or settled', async () => {
  const running = await session({ activeAgo: 3600, running: true, runDue: -3600 });
  await log.append({
    ...appendTo(running, 0),
    lease: { resource: `run:${running}`, holder: 'runner#1', seconds: 60 },
  });
  await session({ activeAgo: 3600, runDue: 60 }); // A question, a coalescing window, a deadline in the queue.
  await session({ activeAgo: 3600, deliveryDue: 60 }); // A running attempt, a retry.
  await session({ activeAgo: 3600, processDue: 60 });
  await session({ activeAgo: 0.1, runDue: -0.1, deliveryDue: -0.1 }); // Its own hint is on its way.
  await session({ activeAgo: 3600, settled: true });
  const dead = await session({ activeAgo: 3600, running: true });
  const { hints } = agenda();
  await eventually(() => hints.length > 0);
  await pause(2_200); // Two more passes.
  expect(hints).toEqual([{ owner: 'run', id: dead }]);
});

it('an agenda ends when another one has taken over', async () => {
  await session({ activeAgo: 5, runDue: -1 });
  const { hints, running } = agenda({ leadEpoch: 2 });
  await running;
  expect(hints).toEqual([]);
});

it('all unsettled work that is due is hinted to its owners when the bus has forgotten everything', async () => {
  const run = await session({ runDue: 0 });
  const open = await session({ running: true });
  const both = await session({ runDue: 0, deliveryDue: 0 });
  await session({ runDue: 3600 });
  await session({ settled: true });
  const hints: Record<string, readonly string[]> = {};
  const hinted = await hintAllUnsettled({
    log,
    signal: new AbortController().signal,
    hint: async (owner, ids) => {
      hints[owner] = ids;
    },
  });
  expect(hinted).toBe(3);
  expect(new Set(hints.run)).toEqual(new Set([run, open, both]));
  expect(hints.delivery).toEqual([both]);
  expect(hints.process).toBeUndefined();
});

it('forgets expired keys and leases that expired long ago, but no key that is stored again meanwhile', async () => {
  await database.query(`INSERT INTO angelia.idempotency_keys (key, stream_id, first_version, last_version, expires_at)
    SELECT key, 's', 1, 1, now() + since::interval
    FROM (VALUES ('old', '-1 minute'), ('renewed', '-1 minute'), ('live', '1 hour')) k(key, since)`);
  await database.query(`INSERT INTO angelia.leases (resource, holder, expires_at, renewed_at)
    VALUES ('run:long-gone', 'a#1', now() - interval '8 days', now()), ('run:lost', 'a#1', now() - interval '1 day', now())`);
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    await client.query('BEGIN');
    await client.query(
      "UPDATE angelia.idempotency_keys SET expires_at = now() + interval '7 days' WHERE key = 'renewed'",
    );
    agenda();
    await eventually(
      async () =>
        (await database.query("SELECT FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"))
          .length > 0,
    );
    await client.query('COMMIT');
  } finally {
    await client.end();
  }
  const left = async (table: string, column: string) =>
    (await database.query(`SELECT ${column} AS name FROM angelia.${table} ORDER BY 1`)).map(
      (row) => row.name,
    );
  await eventually(async () => !(await left('idempotency_keys', 'key')).includes('old'));
  expect(await left('idempotency_keys', 'key')).toEqual(['live', 'renewed']);
  await eventually(async () => (await left('leases', 'resource')).length === 1);
  expect(await left('leases', 'resource')).toEqual(['run:lost']);
});

it('forgets rate limits that are full again and dead letters of deleted streams, and keeps the others', async () => {
  await log.append(appendTo('there', 0));
  await database.query(`INSERT INTO angelia.rate_limits (resource, places, as_of)
    VALUES ('old', 0, now() - interval '2 hours'), ('busy', 0, now() - interval '10 minutes')`);
  await database.query(`INSERT INTO angelia.dead_letters (stream_id, version, handler, reason, recorded_at)
    VALUES ('gone', 1, 'h', 'old', now() - interval '31 days'), ('gone', 2, 'h', 'new', now()),
           ('there', 1, 'h', 'of a stream that is there', now() - interval '31 days')`);
  agenda();
  await eventually(async () => (await column('dead_letters', 'reason')).length === 2);
  expect(await column('dead_letters', 'reason')).toEqual(['new', 'of a stream that is there']);
  expect(await column('rate_limits', 'resource')).toEqual(['busy']);
});

it('forgets sessions and links of the console whose time is up', async () => {
  await database.query(`INSERT INTO angelia.console_sessions (digest, actor, expires_at, revoked_at)
    VALUES ('old', 'a', now() - interval '1 s', null), ('revoked', 'a', now() + interval '1 hour', now()),
           ('open', 'a', now() + interval '1 hour', null), ('old and revoked', 'a', now() - interval '1 s', now())`);
  await database.query(`INSERT INTO angelia.console_links (digest, actor, expires_at, used_at)
    VALUES ('old', 'a', now() - interval '1 s', null), ('used', 'a', now() - interval '1 s', now()),
           ('new', 'a', now() + interval '1 minute', null)`);
  agenda();
  await eventually(async () => (await column('console_links', 'digest')).length === 1);
  expect(await column('console_links', 'digest')).toEqual(['new']);
  // A revoked one is needed until it would have ended by itself.
  expect(await column('console_sessions', 'digest')).toEqual(['open', 'revoked']);
});

it('forgets as fast as a busy system makes keys: a pass that left rows is followed by the next at once', async () => {
  await database.query(`INSERT INTO angelia.idempotency_keys (key, stream_id, first_version, last_version, expires_at)
    SELECT 'old-' || n, 's', 1, 1, now() - interval '1 minute' FROM generate_series(1, 12000) n`);
  agenda();
  await eventually(async () => (await column('idempotency_keys', 'key')).length === 0);
});

const column = async (table: string, name: string) =>
  (await database.query<Record<string, string>>(`SELECT ${name} FROM angelia.${table} ORDER BY 1`)).map(
    (row) => row[name],
  );
