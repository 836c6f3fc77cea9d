import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type EventLog, openEventLog } from '../event-log.ts';
import { createTestDatabase, type TestDatabase } from '../testing/test-database.ts';
import { type SessionFilter, SessionList, type SessionSort } from './session-list.ts';
import { ViewsVersion } from './views-version.ts';

interface Row {
  readonly id: string;
  readonly route: string;
  readonly status: string;
  readonly outcome: string | null;
  readonly waitingFor: string | null;
  readonly agent: string;
  readonly model: string | null;
  readonly failure: string | null;
  readonly title: string;
  readonly deliveryId: string;
  readonly created: number;
  readonly active: number;
  readonly ended: number | null;
  readonly settled: boolean;
  readonly tokens: number;
  readonly continues: string | null;
}

const START = Date.parse('2026-11-18T10:00:00Z');
const MINUTE = 60_000;
const SESSIONS = 120;

/** One session a minute. Every kind of each column occurs with every kind of the others. */
const rows: Row[] = Array.from({ length: SESSIONS }, (_, n) => {
  const created = START + n * MINUTE;
  const hex = created.toString(16).padStart(12, '0');
  const isEnded = n % 4 !== 3;
  const outcome = isEnded ? (['succeeded', 'failed', 'cancelled'][n % 3] as string) : null;
  return {
    id: `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${String(n).padStart(12, '0')}`,
    route: `route-${n % 5}`,
    status: isEnded ? 'ended' : (['queued', 'running', 'waiting'][n % 3] ?? ''),
    outcome,
    waitingFor: !isEnded && n % 3 === 2 ? (['person', 'model'][(n >> 2) % 2] as string) : null,
    agent: ['default', 'reviewer'][n % 2] as string,
    model: [null, 'main', 'backup'][(n >> 1) % 3] ?? null,
    failure: outcome === 'failed' ? (['timeout', 'budget'][n % 2] as string) : null,
    title: n % 7 === 0 ? `Größe of PR #${n}` : `Issue ${n}`,
    deliveryId: `delivery-${n % 40}`,
    created,
    active: created + ((n * 37) % 100) * MINUTE,
    ended: isEnded ? created + ((n * 13) % 50) * MINUTE : null,
    // An ended session may have something to deliver.
    settled: isEnded && n % 8 !== 0,
    tokens: (n * 71) % 1_000,
    continues: n % 9 === 0 ? null : `session-${n % 6}`,
  };
});

let database: TestDatabase;
let log: EventLog;
/** With bounds that the filters below reach. */
let bounded: SessionList;

beforeAll(async () => {
  database = await createTestDatabase();
  log = openEventLog({ url: database.url, instance: 'test', holder: 'test#1' });
  bounded = new SessionList(log.database.relaxed, new ViewsVersion(log.database.relaxed), 9, 50);
  // Autovacuum would tell Postgres how few rows there are, and the plans would be those of a small table.
  const [{ table } = { table: '' }] = await database.query<{ table: string }>(
    "SELECT oid::regclass::text AS table FROM pg_class WHERE relname = 'sessions' AND relkind = 'r'",
  );
  await database.query(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`);
  await database.query(
    `INSERT INTO angelia.sessions (session_id, version, route, status, outcome, created_at, last_activity_at, ended_at, running,
       settled, state, agent, model, failure, title, delivery_id, tokens, waiting_for, continues)
     SELECT x.id, 1, x.route, x.status, x.outcome, to_timestamp(x.created / 1000.0), to_timestamp(x.active / 1000.0),
       to_timestamp(x.ended / 1000.0), false, x.settled, '{}', x.agent, x.model, x.failure, x.title, x."deliveryId", x.tokens, x."waitingFor", x.continues
     FROM jsonb_to_recordset($1::jsonb) x(id text, route text, status text, outcome text, created bigint, active bigint,
       ended bigint, settled boolean, agent text, model text, failure text, title text, "deliveryId" text, tokens bigint, "waitingFor" text, continues text)`,
    [JSON.stringify(rows)],
  );
});
afterAll(async () => {
  await log.close();
  await database.drop();
});

function fits(row: Row, filter: SessionFilter): boolean {
  const same = (
    [
      'route',
      'status',
      'outcome',
      'waitingFor',
      'agent',
      'model',
      'failure',
      'deliveryId',
      'continues',
    ] as const
  ).every((name) => filter[name] === undefined || row[name] === filter[name]);
  return (
    same &&
    row.created >= (filter.since ?? 0) &&
    row.created < (filter.until ?? Number.POSITIVE_INFINITY) &&
    (filter.endedSince === undefined || (row.ended !== null && row.ended >= filter.endedSince)) &&
    (filter.endedBefore === undefined || (row.ended !== null && row.ended < filter.endedBefore)) &&
    (filter.idPrefix === undefined || row.id.startsWith(filter.idPrefix)) &&
    (filter.title === undefined || row.title.toLowerCase().includes(filter.title.toLowerCase()))
  );
}

const times = [START - MINUTE, START + 30 * MINUTE, START + 61 * MINUTE, START + 200 * MINUTE];
const values = {
  route: ['route-0', 'route-3', 'none'],
  status: ['queued', 'running', 'ended'],
  outcome: ['succeeded', 'failed', 'cancelled'],
  agent: ['default', 'reviewer'],
  model: ['main', 'backup'],
  failure: ['timeout', 'budget'],
  since: times,
  until: times,
  endedSince: times,
  endedBefore: times,
  waitingFor: ['person', 'model', 'process'],
  idPrefix: [(rows[0] as Row).id.slice(0, 7), (rows[50] as Row).id.slice(0, 9)],
  deliveryId: ['delivery-3', 'delivery-8'],
  continues: ['session-1', 'session-4'],
  title: ['GRÖSSE', 'größe', 'pr #', '#14'],
} as const;

/** Each value alone, then some of several at once. The same ones in every run. */
function someFilters(): SessionFilter[] {
  const alone = Object.entries(values).flatMap(([name, ofName]) =>
    ofName.map((value) => ({ [name]: value })),
  );
  let seed = 1;
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  const several = Array.from({ length: 150 }, () =>
    Object.fromEntries(
      Object.entries(values).flatMap(([name, ofName]) =>
        random(4) === 0 ? [[name, ofName[random(ofName.length)]]] : [],
      ),
    ),
  );
  return [{}, ...alone, ...several];
}

async function allPages(list: SessionList, filter: SessionFilter, sort: SessionSort): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await list.page({ ...filter, sort, limit: 4, ...(cursor ? { cursor } : {}) });
    expect(page.items.length).toBeLessThanOrEqual(4);
    ids.push(...page.items.map((item) => item.sessionId));
    if (page.nextCursor === null) return ids;
    cursor = page.nextCursor;
  }
}

describe('sessions by filter', () => {
  it('every filter alone and with others finds exactly what fits, in order, also if a page ends before it is full', async () => {
    let found = 0;
    for (const filter of someFilters()) {
      const expected = rows.filter((row) => fits(row, filter)).map((row) => row.id);
      found += expected.length;
      expect([filter, await allPages(bounded, filter, 'oldest')]).toEqual([filter, expected]);
      expect([filter, await allPages(bounded, filter, 'newest')]).toEqual([filter, expected.toReversed()]);
      expect(await log.lists.countSessions(filter)).toEqual({ count: expected.length, exact: true });
    }
    expect(found).toBeGreaterThan(1_000);
  });

  it('a count says when it is only a lower bound', async () => {
    expect(await bounded.count({})).toEqual({ count: 50, exact: false });
    const { count, exact } = await bounded.count({ title: '#14' });
    expect([count <= 1, exact]).toEqual([true, false]);
  });

  it.each<[SessionSort, (row: Row) => number]>([
    ['active', (row) => row.active],
    ['longest', (row) => (row.ended ?? Date.now()) - row.created],
    ['tokens', (row) => row.tokens],
  ])('sorts by %s, over open and settled sessions', async (sort, keyOf) => {
    const filter = { agent: 'default', until: START + 80 * MINUTE };
    const { items, nextCursor } = await log.lists.sessions({ ...filter, sort, limit: 10 });
    const expected = rows
      .filter((row) => fits(row, filter))
      .sort((a, b) => keyOf(b) - keyOf(a) || (a.id < b.id ? 1 : -1))
      .slice(0, 10);
    expect(items.map((item) => item.sessionId)).toEqual(expected.map((row) => row.id));
    expect(nextCursor).toBeNull();
    await expect(bounded.page({ sort, limit: 10 })).rejects.toMatchObject({ code: 'too_many_to_sort' });
  });

  it('a text means the beginning of an id, else a delivery id, else a part of a title', async () => {
    const { id } = rows[50] as Row;
    expect(await log.lists.meaningOf(id)).toEqual({ idPrefix: id });
    expect(await log.lists.meaningOf(id.slice(0, 13).toUpperCase())).toEqual({ idPrefix: id.slice(0, 13) });
    expect(await log.lists.meaningOf('delivery-3')).toEqual({ deliveryId: 'delivery-3' });
    expect(await log.lists.meaningOf('delivery-')).toEqual({ title: 'delivery-' });
    expect(await log.lists.meaningOf('deadbeef')).toEqual({ title: 'deadbeef' });
    // Short words of hex digits are words.
    expect(await log.lists.meaningOf(id.slice(0, 4))).toEqual({ title: id.slice(0, 4) });
  });
});

describe('the plans', () => {
  it.each<[string, SessionFilter, string[]]>([
    ['no filter', {}, ['sessions_pkey']],
    ['since', { since: START }, ['sessions_pkey']],
    ['id', { idPrefix: '01a1e281-20' }, ['sessions_pkey']],
    ['title', { title: 'x' }, ['sessions_pkey']],
    ['route', { route: 'x' }, ['sessions_route']],
    ['route and succeeded', { route: 'x', outcome: 'succeeded' }, ['sessions_route']],
    ['queued', { status: 'queued', agent: 'x' }, ['sessions_unsettled']],
    ['waiting', { waitingFor: 'person' }, ['sessions_unsettled']],
    ['agent', { agent: 'x', route: 'y' }, ['sessions_agent', 'sessions_unsettled']],
    ['model', { model: 'x', since: START }, ['sessions_model', 'sessions_unsettled']],
    ['outcome', { outcome: 'failed', agent: 'x' }, ['sessions_outcome', 'sessions_unsettled']],
    ['failure', { failure: 'x', outcome: 'failed' }, ['sessions_failure', 'sessions_unsettled']],
    ['delivery id', { deliveryId: 'x' }, ['sessions_delivery', 'sessions_unsettled']],
    ['continues', { continues: 'x' }, ['sessions_continues', 'sessions_unsettled']],
  ])('%s: an index in the order of ids, and no sort', async (_, filter, indexes) => {
    const { relaxed } = log.database;
    const run = relaxed.run.bind(relaxed);
    const plans: string[] = [];
    // Explains what the list itself sends, with the settings of its own connections.
    relaxed.run = async (query) => {
      const { sql, parameters } = query.compile();
      const lines = await relaxed.query({ name: '', text: `EXPLAIN ${sql}` }, parameters);
      plans.push(lines.map((line) => line[0]).join('\n'));
      return run(query);
    };
    try {
      for (const sort of ['newest', 'oldest'] as const)
        await log.lists.sessions({ ...filter, sort, limit: 50 });
      await log.lists.countSessions(filter);
    } finally {
      relaxed.run = run;
    }
    expect(plans).toHaveLength(3 * indexes.length);
    for (const plan of plans) {
      expect(plan).toMatch(new RegExp(`Index (Only )?Scan( Backward)? using (${indexes.join('|')}) `));
      expect(plan).not.toMatch(/Sort|Seq Scan|Bitmap/);
    }
    for (const index of indexes) expect(plans.join('\n')).toContain(index);
  });
});
