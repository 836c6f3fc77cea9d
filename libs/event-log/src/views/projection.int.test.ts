import { randomUUID } from 'node:crypto';
import { eventually } from '@angelia/testkit';
import { WakeUp } from '@angelia/waiting';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import pg from 'pg';
import { REBUILD_LOCK, rebuildViews } from '../admin/rebuild.ts';
import { VIEWS_VERSION } from '../connection/schema.ts';
import { type EventLog, openEventLog } from '../event-log.ts';
import { TAIL_START } from '../tail/tail.ts';
import { countingProjection } from '../testing/counting-projection.ts';
import { appendTo, someEvent } from '../testing/some-events.ts';
import { createTestDatabase, type TestDatabase } from '../testing/test-database.ts';
import { PageProjector } from './page-projector.ts';
import { runProjection } from './projection.ts';
import type { Measured, ProjectSession } from './session-views.ts';

let database: TestDatabase;
let log: EventLog;
let wake: WakeUp;
let stops: (() => Promise<void>)[];

beforeEach(async () => {
  database = await createTestDatabase();
  wake = new WakeUp();
  stops = [];
  log = openEventLog({
    url: database.url,
    instance: 'test',
    holder: 'test#1',
    onCommitted: () => wake.wake(),
  });
});
afterEach(async () => {
  for (const stop of stops) await stop();
  await log.close();
  await database.drop();
});

function projection(
  leadEpoch: number,
  project: ProjectSession = countingProjection,
  onProjected: (measured: readonly Measured[]) => void = () => {},
) {
  const stopping = new AbortController();
  const running = runProjection({ log, leadEpoch, signal: stopping.signal, wake, project, onProjected });
  const stop = async () => {
    stopping.abort();
    await running;
  };
  stops.push(stop);
  return { running, stop };
}

async function someSessions(count: number): Promise<string[]> {
  const sessions = Array.from({ length: count }, () => randomUUID());
  await Promise.all(
    sessions.map(async (session, n) => {
      await log.append(
        appendTo(session, 0, [
          someEvent('session.created', { route: `route-${n % 3}` }),
          someEvent('turn.requested'),
        ]),
      );
      await log.append(
        appendTo(session, 2, [someEvent('process.started'), someEvent('session.final-response')]),
      );
      if (n % 2) await log.append(appendTo(session, 4, [someEvent('session.ended')]));
    }),
  );
  return sessions;
}

const VIEWS = ['sessions', 'deliveries', 'processes'];

async function views(): Promise<unknown[][]> {
  return Promise.all(VIEWS.map((view) => database.query(`SELECT * FROM angelia.${view} v ORDER BY v::text`)));
}

const caughtUp = () => eventually(async () => (await log.status.health()).projectionLagMs === 0);

it('sessions, deliveries and processes follow the log; other streams have no rows', async () => {
  projection(1);
  const sessions = await someSessions(20);
  await log.append(appendTo('route:demo', 0));
  await caughtUp();
  const [rows, deliveries, processes] = await views();
  expect(rows).toHaveLength(20);
  expect(deliveries).toHaveLength(20);
  expect(processes).toHaveLength(20);
  const ended = await log.lists.sessions({ limit: 50, status: 'ended' });
  expect(ended.items).toHaveLength(10);
  expect(ended.items.every((session) => session.settled && session.version === 5)).toBe(true);
  expect(sessions).toContain(ended.items[0]?.sessionId);
});

it('what was measured is reported once, after the rows are committed, across leaders and past an event that failed', async () => {
  const told: string[] = [];
  const measuring: ProjectSession = (previous, events) => ({
    ...countingProjection(previous, events),
    measured: events.map(({ version, streamId }) => ({ version, streamId })),
  });
  const tell = (measured: readonly Measured[]) => {
    for (const { version, streamId } of measured as readonly (Measured & { streamId: string })[])
      told.push(`${streamId} ${version}`);
  };
  const first = projection(1, measuring, tell);
  const sessions = await someSessions(6);
  await caughtUp();
  await first.stop();
  projection(2, measuring, tell);
  const gap = randomUUID();
  await log.append(appendTo(gap, 0, [someEvent('session.created')]));
  await caughtUp();
  await Promise.all(
    sessions.map((id, n) => log.append(appendTo(id, n % 2 ? 5 : 4, [someEvent('test.more')]))),
  );
  await caughtUp();
  const expected = sessions.flatMap((id, n) =>
    Array.from({ length: n % 2 ? 6 : 5 }, (_, at) => `${id} ${at + 1}`),
  );
  // The checkpoint is visible in Postgres before its writer knows of the commit and reports it.
  await eventually(async () => told.length >= expected.length + 1);
  expect(told.sort()).toEqual([...expected, `${gap} 1`].sort());
  // A rebuild reports nothing: all of it was reported before.
  await rebuildViews({ url: database.url, project: measuring });
  expect(told).toHaveLength(expected.length + 1);
});

it('open work is counted by status, with the age of what is due', async () => {
  projection(1);
  await someSessions(7);
  await caughtUp();
  const work = await log.status.openWork();
  expect(work.sessions).toEqual({ queued: 4 });
  expect(work.runOverdueMs).toBeGreaterThanOrEqual(0);
  await eventually(async () => (await log.status.openWork()).runOverdueMs > 0);
  expect(work.deliveryOverdueMs).toBe(0);
});

it('rebuilt views are equal to the dropped ones, also beside a live projector that goes on in them', async () => {
  projection(1);
  await someSessions(60);
  await caughtUp();
  const before = await views();
  const { build, events } = await rebuildViews({ url: database.url, project: countingProjection });
  expect(build).toBe(2);
  expect(events).toBe(270);
  expect(await views()).toEqual(before);

  const more = await someSessions(5);
  await eventually(async () => {
    const { items } = await log.lists.sessions({ limit: 100 });
    return more.every((id) => items.find((item) => item.sessionId === id && item.version >= 4));
  });
  const schemas = await database.query(
    "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'angelia_views%'",
  );
  expect(schemas).toEqual([{ nspname: 'angelia_views_2' }]);
});

it('a rebuild under load misses nothing', async () => {
  projection(1);
  let running = true;
  const work = (async () => {
    while (running) await someSessions(10);
  })();
  await eventually(async () => (await log.lists.sessions({ limit: 1 })).items.length > 0);
  await rebuildViews({ url: database.url, project: countingProjection });
  await someSessions(10);
  running = false;
  await work;
  await caughtUp();
  const wrong = await database.query(
    `SELECT e.stream_id FROM (SELECT stream_id, array_agg(version ORDER BY version) AS versions FROM angelia.events GROUP BY 1) e
     LEFT JOIN angelia.sessions s ON s.session_id = e.stream_id WHERE s.state->'seen' IS DISTINCT FROM to_jsonb(e.versions)`,
  );
  expect(wrong).toEqual([]);
});

it('the next rebuild clears a killed one, and a second one at the same time is refused', async () => {
  await someSessions(3);
  const other = new pg.Client({ connectionString: database.url });
  await other.connect();
  await other.query(`SELECT pg_advisory_lock(${REBUILD_LOCK})`);
  await expect(rebuildViews({ url: database.url, project: countingProjection })).rejects.toMatchObject({
    code: 'log_refused',
  });
  await other.end();
  expect((await rebuildViews({ url: database.url, project: countingProjection })).build).toBe(2);
  await database.query('INSERT INTO angelia.view_builds (build, active) VALUES (7, false)');
  await database.query('CREATE SCHEMA angelia_views_7 AUTHORIZATION angelia_migrator');
  expect((await rebuildViews({ url: database.url, project: countingProjection })).build).toBe(3);
});

it('a session that cannot be projected becomes a dead letter and blocks no other; once it is fixed, it comes back complete', async () => {
  const first = projection(1);
  const [bad, good] = [randomUUID(), randomUUID()];
  await log.append(appendTo(bad, 0, [someEvent('session.created', { route: 'bad' })]));
  await log.append(appendTo(bad, 1, [someEvent('test.poison')]));
  await log.append(appendTo(good, 0));
  await caughtUp();
  expect(await log.deadLetters.list({ limit: 10 })).toMatchObject([
    { streamId: bad, handler: 'projection', reason: 'this event cannot be projected' },
  ]);
  expect((await log.lists.sessions({ limit: 10 })).items.map((session) => session.sessionId)).toContain(good);
  await first.stop();

  projection(2, (previous, events) =>
    countingProjection(
      previous,
      events.map((event) => ({ ...event, type: 'test.mended' })),
    ),
  );
  const [letter] = await log.deadLetters.list({ limit: 10 });
  await log.deadLetters.requestReplay(letter?.id ?? 0);
  await eventually(async () => (await log.deadLetters.list({ limit: 10 })).length === 0);
  const replayed = (await log.lists.sessions({ limit: 10 })).items.find((one) => one.sessionId === bad);
  expect(replayed).toMatchObject({ version: 2, state: { seen: [1, 2] } });
  await log.append(appendTo(bad, 2));
  await caughtUp();
  const row = (await log.lists.sessions({ limit: 10 })).items.find((session) => session.sessionId === bad);
  expect(row).toMatchObject({ version: 3, state: { seen: [1, 2, 3] } });
});

it.each<[string, ProjectSession]>([
  [
    'U+0000 in the state',
    (previous, events) => ({ ...countingProjection(previous, events), state: { text: '\u0000' } }),
  ],
  [
    'a time that is none',
    (previous, events) => {
      const made = countingProjection(previous, events);
      return { ...made, session: { ...made.session, runDueAt: Number.NaN } };
    },
  ],
  [
    'a time that Postgres does not have',
    (previous, events) => {
      const made = countingProjection(previous, events);
      return { ...made, session: { ...made.session, runDueAt: 1e300 } };
    },
  ],
])('%s in one session does not stop the views', async (_, spoilt) => {
  projection(1, (previous, events) =>
    events.some((event) => event.type === 'test.spoil')
      ? spoilt(previous, events)
      : countingProjection(previous, events),
  );
  const [bad, good] = [randomUUID(), randomUUID()];
  await Promise.all([log.append(appendTo(bad, 0, [someEvent('test.spoil')])), log.append(appendTo(good, 0))]);
  await caughtUp();
  expect((await log.lists.sessions({ limit: 10 })).items.map((session) => session.sessionId)).toEqual([good]);
  expect(await log.deadLetters.list({ limit: 10 })).toMatchObject([{ streamId: bad, version: 1 }]);
});

it('repeating a page changes nothing, and a page of an earlier leader changes nothing', async () => {
  await someSessions(5);
  const pool = log.database.relaxed;
  const page = await eventually(async () => {
    const read = await log.tail.read(TAIL_START, 1_000, { data: true });
    return read.events.length === 22 ? read : null;
  });
  await database.query("UPDATE angelia.checkpoints SET lead_epoch = 5 WHERE name LIKE 'views:1:%'");
  const current = { build: 1, version: VIEWS_VERSION, leadEpoch: 5, whileActive: true };
  expect(await new PageProjector(pool, { ...current, leadEpoch: 4 }, countingProjection).apply(page)).toBe(
    false,
  );
  expect((await views()).flat()).toEqual([]);
  expect(await new PageProjector(pool, current, countingProjection).apply(page)).toBe(true);
  const once = await views();
  expect(once[0]).toHaveLength(5);
  expect(await new PageProjector(pool, current, countingProjection).apply(page)).toBe(true);
  expect(await views()).toEqual(once);
});

it('an outage makes no dead letter', async () => {
  projection(1);
  await someSessions(5);
  await database.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'test'",
  );
  await eventually(() => someSessions(5).catch(() => null));
  await eventually(async () => (await log.status.health()).projectionLagMs === 0);
  expect(await log.deadLetters.list({ limit: 10 })).toEqual([]);
});

it('a replay that fails again stays a dead letter, and is not retried for ever', async () => {
  let tries = 0;
  projection(1, (previous, events) => {
    tries += 1;
    return countingProjection(previous, events);
  });
  const bad = randomUUID();
  await log.append(appendTo(bad, 0, [someEvent('test.poison')]));
  await eventually(async () => (await log.deadLetters.list({ limit: 10 })).length === 1);
  const [letter] = await log.deadLetters.list({ limit: 10 });
  const before = tries;
  await log.deadLetters.requestReplay(letter?.id ?? 0);
  await eventually(() => tries > before);
  const [requested] = await eventually(() =>
    database.query('SELECT FROM angelia.dead_letters WHERE replay_requested_at IS NULL'),
  );
  expect(requested).toBeDefined();
  expect(tries).toBe(before + 1);
});
