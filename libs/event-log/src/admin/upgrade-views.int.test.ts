import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { eventually } from '@angelia/testkit';
import { WakeUp } from '@angelia/waiting';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import pg from 'pg';
import { VIEWS_VERSION } from '../connection/schema.ts';
import { type EventLog, openEventLog } from '../event-log.ts';
import { Checkpoint } from '../tail/checkpoint.ts';
import { countingProjection } from '../testing/counting-projection.ts';
import { appendTo, someEvent } from '../testing/some-events.ts';
import { createTestDatabase, type TestDatabase } from '../testing/test-database.ts';
import { runProjection } from '../views/projection.ts';
import { migrate } from './migrate.ts';
import { MIGRATOR_ROLE } from './roles.ts';
import { upgradeViews } from './upgrade-views.ts';

let database: TestDatabase;
let log: EventLog;
let stopping: AbortController;
let running: Promise<void>[];

beforeEach(async () => {
  database = await createTestDatabase();
  log = openEventLog({ url: database.url, instance: 'test', holder: 'test#1' });
  stopping = new AbortController();
  running = [];
});
afterEach(async () => {
  stopping.abort();
  await Promise.all(running);
  await log.close();
  await database.drop();
});

/** The schema as 0.2.0 left it: the views of then, and no version. */
async function likeVersion020(): Promise<void> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const sql = async (path: string) =>
    (await readFile(new URL(path, import.meta.url), 'utf8')).replaceAll(':views', 'angelia_views_1');
  await client.query(`SET ROLE ${MIGRATOR_ROLE}`);
  await client.query('DROP SCHEMA angelia_views_1 CASCADE');
  await client.query("DELETE FROM angelia.checkpoints WHERE name LIKE 'views:%'");
  await client.query('ALTER TABLE angelia.view_builds DROP COLUMN version');
  await client.query('DELETE FROM angelia.migrations WHERE number >= 15');
  await client.query('DROP TABLE angelia.console_sessions, angelia.console_links');
  await client.query('DROP FUNCTION angelia.append_one');
  await client.query(await sql('../testing/views-0.2.0.sql'));
  await client.query(await sql('../sql/views/switch.sql'));
  await client.query("INSERT INTO angelia.checkpoints (name) VALUES ('views:1')");
  await client.end();
}

const start = (work: Promise<void>) => running.push(work);
const project = (leadEpoch: number) =>
  start(
    runProjection({
      log,
      leadEpoch,
      signal: stopping.signal,
      wake: new WakeUp(),
      project: countingProjection,
    }),
  );
const upgrade = () => start(upgradeViews({ log, project: countingProjection, signal: stopping.signal }));
const newSession = async () => {
  const id = randomUUID();
  await log.append(appendTo(id, 0, [someEvent('session.created', { route: 'r' })]));
  return id;
};
const listed = async (filter: { agent?: string } = {}) =>
  (await log.lists.sessions({ ...filter, limit: 50 })).items.map(({ sessionId }) => sessionId).sort();
const activeVersion = async () =>
  (await database.query('SELECT version FROM angelia.view_builds WHERE active'))[0]?.version;

it('views of 0.2.0 are rebuilt by themselves while the projection goes on, and lists never answer from half of them', async () => {
  await likeVersion020();
  await migrate({ url: database.url });
  expect(await activeVersion()).toBe(1);
  project(1);
  const ids = [await newSession(), await newSession()].sort();
  await eventually(async () => (await listed()).length === 2);
  await expect(listed({ agent: 'default' })).rejects.toMatchObject({
    code: 'views_outdated',
    retryable: true,
  });
  await expect(log.lists.countSessions({ failure: 'x' })).rejects.toMatchObject({ code: 'views_outdated' });

  upgrade();
  await eventually(async () => (await activeVersion()) === VIEWS_VERSION);
  expect(await listed({ agent: 'default' })).toEqual(ids);
  ids.push(await newSession());
  await eventually(async () => (await listed({ agent: 'default' })).length === 3);
  expect(await listed()).toEqual(ids.sort());
  const schemas = await database.query(
    "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'angelia_views%'",
  );
  expect(schemas).toEqual([{ nspname: 'angelia_views_2' }]);
  expect(await database.query("SELECT name FROM angelia.checkpoints WHERE name LIKE 'views:%'")).toEqual([
    { name: `views:2:v${VIEWS_VERSION}` },
  ]);
});

it('a program of 0.2.0 that leads for a moment during the upgrade cannot write into the new views', async () => {
  // It claims the checkpoint under this name before it writes anything.
  expect(await new Checkpoint(log.database.relaxed, 'views:1', 99).claim()).toBeNull();
});

it('this program does not write into views of a newer one, and gives the lead back', async () => {
  const newer = VIEWS_VERSION + 1;
  await database.query(`UPDATE angelia.view_builds SET version = ${newer}`);
  await database.query(`UPDATE angelia.checkpoints SET name = 'views:1:v${newer}' WHERE name LIKE 'views:%'`);
  await newSession();
  // It returns by itself.
  await runProjection({
    log,
    leadEpoch: 1,
    signal: stopping.signal,
    wake: new WakeUp(),
    project: countingProjection,
  });
  expect(await listed()).toEqual([]);
});

it('after a rollback that rebuilt the views with 0.2.0, an upgrade works again', async () => {
  await database.query(
    "INSERT INTO angelia.checkpoints (name) VALUES ('views:1'), ('views:0:v2')", // 0.2.0 dropped a build 0 that we made
  );
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(`SET ROLE ${MIGRATOR_ROLE}`);
  await client.query('DROP SCHEMA angelia_views_1 CASCADE');
  await client.query("DELETE FROM angelia.checkpoints WHERE name LIKE 'views:1:%'");
  const old = await readFile(new URL('../testing/views-0.2.0.sql', import.meta.url), 'utf8');
  await client.query(old.replaceAll(':views', 'angelia_views_1'));
  await client.query('UPDATE angelia.view_builds SET version = 1');
  await client.end();

  await migrate({ url: database.url });
  expect(await database.query("SELECT name FROM angelia.checkpoints WHERE name LIKE 'views:%'")).toEqual([
    { name: 'views:1' },
  ]);
  project(1);
  const id = await newSession();
  await eventually(async () => (await listed()).length === 1);
  upgrade();
  await eventually(async () => (await activeVersion()) === VIEWS_VERSION);
  expect(await listed({ agent: 'default' })).toEqual([id]);
});
