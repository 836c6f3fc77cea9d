import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type EventLog, openEventLog } from '../event-log.ts';
import { idAt } from '../read/id-time.ts';
import { createTestDatabase, type TestDatabase } from '../testing/test-database.ts';
import { MINUTE_MS } from './overview.ts';

const SINCE = Date.parse('2026-11-18T10:00:00Z');

let database: TestDatabase;
let log: EventLog;

beforeAll(async () => {
  database = await createTestDatabase();
  log = openEventLog({ url: database.url, instance: 'test', holder: 'test#1' });
});
afterAll(async () => {
  await log.close();
  await database.drop();
});
beforeEach(async () => {
  await database.query('DELETE FROM angelia.sessions');
  await database.query('DELETE FROM angelia.deliveries');
});

let made = 0;
function newId(at: number): string {
  made += 1;
  return `${idAt(at)}-7000-8000-${String(made).padStart(12, '0')}`;
}

interface SessionOver {
  route?: string;
  status?: string;
  outcome?: string | null;
  waitingFor?: string | null;
  createdAt?: number;
  endedAt?: number | null;
  settled?: boolean;
}

async function session(over: SessionOver): Promise<string> {
  const { createdAt = SINCE, endedAt = null, outcome = null, waitingFor = null } = over;
  const id = newId(createdAt);
  await database.query(
    `INSERT INTO angelia.sessions (session_id, version, route, status, outcome, created_at, last_activity_at, ended_at, running,
       settled, state, agent, title, delivery_id, tokens, waiting_for, waiting_since)
     VALUES ($1, 1, $2, $3, $4, to_timestamp($5::float8 / 1000), now(), to_timestamp($6::float8 / 1000), false, $7, '{}', 'a', 't', 'd', 0,
       $8, CASE WHEN $8::text IS NULL THEN NULL ELSE now() END)`,
    [
      id,
      over.route ?? 'r',
      over.status ?? (outcome === null ? 'queued' : 'ended'),
      outcome,
      createdAt,
      endedAt,
      over.settled ?? outcome !== null,
      waitingFor,
    ],
  );
  return id;
}

async function delivery(
  sessionId: string,
  over: {
    output: number;
    at: number;
    status?: string;
    kind?: string;
    turn?: number;
    target?: string;
    attempts?: number;
    reason?: string;
  },
): Promise<void> {
  const {
    output,
    at,
    status = 'delivered',
    kind = 'final-response',
    turn = 1,
    target = 'log',
    attempts = 1,
  } = over;
  await database.query(
    `INSERT INTO angelia.deliveries (session_id, output, target, status, attempts, due_at, updated_at, detail)
     VALUES ($1, $2, $3, $4, $5, to_timestamp($6::float8 / 1000), to_timestamp($6::float8 / 1000), $7)`,
    [sessionId, output, target, status, attempts, at, { kind, turn, reason: over.reason ?? null }],
  );
}

describe('what goes on', () => {
  it('counts open sessions by status and by what they wait for', async () => {
    for (const over of [
      { status: 'running' },
      { status: 'queued' },
      { status: 'queued' },
      { status: 'waiting', waitingFor: 'person' },
      { status: 'waiting', waitingFor: 'model' },
      { status: 'waiting', waitingFor: 'model' },
      { outcome: 'succeeded', endedAt: SINCE },
      // Ended, but something is left to deliver: no longer open.
      { outcome: 'failed', endedAt: SINCE, settled: false },
    ])
      await session(over);
    const { open, waitingFor } = await log.overview.activity(SINCE);
    expect(Object.fromEntries(open.byStatus)).toEqual({ running: 1, queued: 2, waiting: 3 });
    expect(Object.fromEntries(waitingFor)).toEqual({ person: 1, model: 2 });
    expect(open.exact).toBe(true);
  });

  it('counts by minute what was created, what ended and how, whether it is settled or not', async () => {
    const minute = SINCE + 5 * MINUTE_MS;
    await session({ createdAt: SINCE - 1 });
    await session({ createdAt: minute });
    await session({ createdAt: minute + 59_999 });
    await session({ createdAt: SINCE - 7_200_000, outcome: 'failed', endedAt: minute + 1 });
    await session({ createdAt: SINCE - 7_200_000, outcome: 'failed', endedAt: minute + 2, settled: false });
    await session({ createdAt: SINCE - 7_200_000, outcome: 'succeeded', endedAt: minute + MINUTE_MS });
    await session({ createdAt: SINCE - 7_200_000, outcome: 'succeeded', endedAt: SINCE - 1 });
    const { minutes, minutesExact } = await log.overview.activity(SINCE);
    expect([...minutes.keys()].sort()).toEqual([minute, minute + MINUTE_MS]);
    expect(minutes.get(minute)).toMatchObject({ created: 2, ended: new Map([['failed', 2]]) });
    expect(minutes.get(minute + MINUTE_MS)).toMatchObject({ created: 0, ended: new Map([['succeeded', 1]]) });
    expect(minutesExact).toBe(true);
  });

  it('measures from the webhook to the first output and to the answer of its turn', async () => {
    const id = await session({ createdAt: SINCE });
    await delivery(id, { output: 3, at: SINCE + 2_000, kind: 'interim-status' });
    await delivery(id, { output: 5, at: SINCE + 9_000 });
    // A later turn has its own beginning, which is not that of the session.
    await delivery(id, { output: 9, at: SINCE + 50_000, turn: 2 });
    await delivery(id, { output: 10, at: SINCE + 55_000, status: 'dead' });
    const quick = await session({ createdAt: SINCE });
    await delivery(quick, { output: 3, at: SINCE + 1_000 });
    const { minutes, deadDeliveries } = await log.overview.activity(SINCE);
    expect(minutes.get(SINCE)).toMatchObject({
      delivered: 4,
      firstStatus: { p50Ms: 1_000, p95Ms: 2_000 },
      answered: { p50Ms: 1_000, p95Ms: 9_000 },
    });
    expect(deadDeliveries).toEqual({ count: 1, exact: true });
  });

  it('names the targets whose deliveries wait after a failure', async () => {
    const id = await session({});
    await delivery(id, { output: 1, at: SINCE, status: 'pending', target: 'slack', reason: 'older' });
    await delivery(id, { output: 2, at: SINCE + 1, status: 'pending', target: 'slack', reason: 'HTTP 503' });
    await delivery(id, { output: 3, at: SINCE, status: 'pending', target: 'log', attempts: 0 });
    await delivery(id, { output: 4, at: SINCE, status: 'dead', target: 'email', reason: 'gone' });
    expect(await log.overview.failingTargets()).toEqual([
      { target: 'slack', deliveries: 2, exact: true, reason: 'HTTP 503', nextAttemptAt: SINCE },
    ]);
  });

  it('says what each route did, and when its last webhook came', async () => {
    await session({ route: 'a', createdAt: SINCE, outcome: 'failed', endedAt: SINCE });
    await session({ route: 'a', createdAt: SINCE + 1_000 });
    await session({ route: 'b', createdAt: SINCE - 1_000 });
    const { byRoute, exact } = await log.overview.trafficSince(SINCE);
    expect([Object.fromEntries(byRoute), exact]).toEqual([{ a: { sessions: 2, failed: 1 } }, true]);
    const last = await log.overview.lastWebhooks(['a', 'b', 'none']);
    expect(last.get('a')).toEqual({ sessionAt: SINCE + 1_000, unstartedAt: null });
    expect(last.get('b')).toEqual({ sessionAt: SINCE - 1_000, unstartedAt: null });
    expect(last.get('none')).toEqual({ sessionAt: null, unstartedAt: null });
  });
});

describe('its cost', () => {
  it('has a bound: each statement reads an index from its newest end, with a limit', async () => {
    // So many rows that a plan by their number would read the table.
    await database.query(
      `INSERT INTO angelia.sessions (session_id, version, route, status, outcome, created_at, last_activity_at, ended_at, running,
         settled, state, agent, title, delivery_id, tokens)
       SELECT '019' || lpad(to_hex(n), 5, '0') || '-0000-7000-8000-000000000000', 1, 'r', 'ended', 'succeeded', t, t, t, false, true,
         '{}', 'a', 't', 'd', 0
       FROM generate_series(1, 20000) n, LATERAL (SELECT timestamptz '2026-11-17' + n * interval '1 second' AS t) x`,
    );
    await database.query(
      `INSERT INTO angelia.deliveries (session_id, output, target, status, attempts, updated_at, detail)
       SELECT session_id, 1, 'log', 'delivered', 1, ended_at, '{}' FROM angelia.sessions`,
    );
    await database.query('ANALYZE angelia_views_1.sessions, angelia_views_1.deliveries');
    const { relaxed } = log.database;
    const query = relaxed.query.bind(relaxed);
    const plans: string[] = [];
    relaxed.query = async (statement, values) => {
      const lines = await query({ name: '', text: `EXPLAIN ${statement.text}` }, values);
      plans.push(lines.map((line) => line[0]).join('\n'));
      return query(statement, values);
    };
    try {
      await log.overview.activity(SINCE);
      await log.overview.awaitedModels();
      await log.overview.failingTargets();
      await log.overview.trafficSince(SINCE);
      await log.overview.lastWebhooks(['r']);
    } finally {
      relaxed.query = query;
    }
    expect(plans.length).toBeGreaterThanOrEqual(11);
    for (const plan of plans) {
      expect(plan).not.toMatch(/Seq Scan on (sessions|deliveries|dead_letters|events)/);
      expect(plan).toMatch(/Limit|refused|unstarted/);
    }
    for (const index of [
      'sessions_unsettled',
      'sessions_ended',
      'sessions_pkey',
      'deliveries_status',
      'sessions_route',
    ])
      expect(plans.join('\n')).toContain(index);
  });
});
