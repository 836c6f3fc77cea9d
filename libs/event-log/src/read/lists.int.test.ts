import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type EventLog, openEventLog } from '../event-log.ts';
import { createTestDatabase, type TestDatabase } from '../testing/test-database.ts';

let database: TestDatabase;
let log: EventLog;

beforeAll(async () => {
  database = await createTestDatabase();
  log = openEventLog({ url: database.url, instance: 'test', holder: 'test#1' });
  // 40 sessions, two of each time, of three routes; every fourth has ended, every fifth of the rest runs.
  await database.query(
    `INSERT INTO angelia.sessions (session_id, version, route, status, created_at, last_activity_at, run_due_at, running, settled, state,
       agent, title, delivery_id, tokens)
     SELECT 'session-' || lpad(n::text, 2, '0'), n, 'route-' || (n % 3),
       CASE WHEN n % 4 = 0 THEN 'ended' WHEN n % 5 = 0 THEN 'running' ELSE 'queued' END,
       '2026-01-01'::timestamptz + (n / 2) * interval '1 ms', now(),
       CASE WHEN n % 4 <> 0 THEN now() - (40 - n) * interval '1 s' END, n % 4 <> 0 AND n % 5 = 0, n % 4 = 0, jsonb_build_object('n', n),
       'default', 'a title', 'd' || n, 0
     FROM generate_series(1, 40) n`,
  );
  await database.query(
    `INSERT INTO angelia.deliveries (session_id, output, target, status, attempts, updated_at, detail)
     SELECT 'session-01', n, 'http', CASE WHEN n % 2 = 0 THEN 'delivered' ELSE 'dead' END, n, '2026-01-01', NULL
     FROM generate_series(1, 9) n`,
  );
  await database.query(
    "INSERT INTO angelia.processes VALUES ('proc_1', 'session-01', 'running', now(), '{\"pid\": 1}'), ('proc_2', 'session-02', 'exited', now(), NULL)",
  );
});
afterAll(async () => {
  await log.close();
  await database.drop();
});

async function allPages<T>(
  read: (cursor: string | undefined) => Promise<{ items: T[]; nextCursor: string | null }>,
): Promise<T[]> {
  const all: T[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await read(cursor);
    all.push(...page.items);
    if (page.nextCursor === null) return all;
    cursor = page.nextCursor;
  }
}

it('sessions are paged newest first, each once, also if many have the same time', async () => {
  const sessions = await allPages((cursor) =>
    log.lists.sessions({ limit: 7, ...(cursor ? { cursor } : {}) }),
  );
  expect(sessions.map((session) => session.version)).toEqual(Array.from({ length: 40 }, (_, n) => 40 - n));
  expect(sessions[0]).toMatchObject({
    sessionId: 'session-40',
    route: 'route-1',
    status: 'ended',
    state: { n: 40 },
  });
});

it('sessions are filtered by route and by status', async () => {
  const by = async (filter: { route?: string; status?: string }) =>
    (await allPages((cursor) => log.lists.sessions({ limit: 3, ...filter, ...(cursor ? { cursor } : {}) })))
      .length;
  expect(await by({ status: 'ended' })).toBe(10);
  expect(await by({ status: 'running' })).toBe(6);
  expect(await by({ route: 'route-0' })).toBe(13);
  expect(await by({ route: 'route-0', status: 'queued' })).toBe(8);
  expect(await by({ status: 'unknown' })).toBe(0);
});

it('deliveries are paged and filtered, processes are found by session', async () => {
  const deliveries = await allPages((cursor) =>
    log.lists.deliveries({ limit: 2, sessionId: 'session-01', ...(cursor ? { cursor } : {}) }),
  );
  expect(deliveries.map((delivery) => delivery.output)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1]);
  expect((await log.lists.deliveries({ limit: 10, status: 'dead' })).items).toHaveLength(5);
  expect((await log.lists.processes({ sessionId: 'session-01', limit: 10 })).items).toMatchObject([
    { processId: 'proc_1', detail: { pid: 1 } },
  ]);
  expect((await log.lists.processes({ limit: 10 })).items).toHaveLength(2);
});

it('a cursor that the list did not return is refused', async () => {
  for (const cursor of [
    'x',
    '',
    Buffer.from('[1]').toString('base64url'),
    Buffer.from('["a","b"]').toString('base64url'),
  ]) {
    await expect(log.lists.sessions({ limit: 1, cursor })).rejects.toMatchObject({ code: 'invalid_cursor' });
  }
});

it('in the queue routes take turns, the longest waiting session of each first, and running ones are left out', async () => {
  const picked = await log.queue.pick(6);
  expect(picked.map((session) => session.sessionId)).toEqual([
    'session-01',
    'session-02',
    'session-03',
    'session-06',
    'session-07',
    'session-11',
  ]);
  expect((await log.queue.pick(50, ['route-1'])).some((session) => session.route === 'route-1')).toBe(false);
  expect(await log.queue.pick(100)).toHaveLength(24);
  const ofOne = await log.queue.pickOfRoute('route-1', 3);
  expect(ofOne.map((session) => session.route)).toEqual(['route-1', 'route-1', 'route-1']);
  expect(ofOne.map((session) => session.runDueAt)).toEqual(ofOne.map((s) => s.runDueAt).toSorted());
});
