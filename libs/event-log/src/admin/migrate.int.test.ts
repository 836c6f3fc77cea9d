import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { eventually } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { openEventLog } from '../event-log.ts';
import { TAIL_START } from '../tail/tail.ts';
import { countingProjection } from '../testing/counting-projection.ts';
import { startCuttableProxy } from '../testing/cuttable-proxy.ts';
import { appendTo } from '../testing/some-events.ts';
import { createTestDatabase, type TestDatabase } from '../testing/test-database.ts';
import { migrate, raiseEpoch } from './migrate.ts';
import { rebuildViews } from './rebuild.ts';

const command = fileURLToPath(new URL('../commands/migrate.ts', import.meta.url));

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function runMigrate(url: string | undefined, ...args: string[]): Promise<Ended> {
  return migrating(url, args).ended;
}

/** A running `migrate`. `said` is what it wrote to stderr so far. */
function migrating(url: string | undefined, args: string[] = [], extra: NodeJS.ProcessEnv = {}) {
  const env: NodeJS.ProcessEnv = { ...process.env, NODE_OPTIONS: '', ...extra };
  if (url === undefined) delete env.DATABASE_URL;
  else env.DATABASE_URL = url;
  const child = spawn(process.execPath, ['--no-warnings', command, ...args], { env });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code) => resolve({ code, out, err }));
  });
  return { ended, said: () => err, kill: () => child.kill() };
}

const OF_SESSIONS = [
  'autovacuum_vacuum_scale_factor=0',
  'autovacuum_vacuum_threshold=20000',
  'vacuum_index_cleanup=on',
];

async function autovacuumOf(database: TestDatabase, table: string): Promise<string[]> {
  const [row] = await database.query<{ options: string[] }>(
    `SELECT reloptions AS options FROM pg_class WHERE oid = '${table}'::regclass`,
  );
  return (row?.options ?? []).filter((option) => /vacuum/.test(option)).sort();
}

describe('migrate', () => {
  it('run by four processes at once applies each migration once', async () => {
    const database = await createTestDatabase({ migrated: false });
    const results = await Promise.all([1, 2, 3, 4].map(() => runMigrate(database.url)));
    expect(results.map((result) => result.code)).toEqual([0, 0, 0, 0]);
    expect(results.filter((result) => result.out.includes('applied 001'))).toHaveLength(1);
    expect(results.filter((result) => result.out.includes('up to date'))).toHaveLength(3);
    expect(await migrate({ url: database.url })).toEqual({ applied: [], warnings: [] });
    await database.drop();
  });

  it('run on several databases of one cluster at once agrees on the roles', async () => {
    const databases = await Promise.all([1, 2, 3, 4].map(() => createTestDatabase({ migrated: false })));
    const results = await Promise.all(databases.map(({ url }) => migrate({ url })));
    expect(results.flatMap((result) => result.warnings)).toEqual([]);
    await Promise.all(databases.map((database) => database.drop()));
  });

  it('refuses a migration that was changed after it was applied', async () => {
    const database = await createTestDatabase();
    await database.query("UPDATE angelia.migrations SET checksum = 'other' WHERE number = 2");
    await expect(migrate({ url: database.url })).rejects.toMatchObject({
      code: 'migration_mismatch',
      retryable: false,
    });
    expect(await runMigrate(database.url)).toMatchObject({
      code: 78,
      err: expect.stringContaining('002_events.sql'),
    });
    await database.drop();
  });

  it.each(['starts up', 'hangs up'])('waits for a Postgres that %s, and reports it', async (how) => {
    const database = await createTestDatabase({ migrated: false });
    const proxy = await startCuttableProxy(database.url);
    if (how === 'starts up') proxy.startUp();
    else proxy.hangUp();
    const run = migrating(proxy.url);
    const reason = how === 'starts up' ? 'the database system is starting up' : '(ECONNRESET|terminated)';
    const waits = new RegExp(
      `^migrate: waiting for Postgres \\(.*${reason}.*\\), for [56]\\d\\d s at most$`,
      'm',
    );
    try {
      await eventually(() => waits.test(run.said()));
      proxy.thaw();
      expect(await run.ended).toMatchObject({ code: 0, out: expect.stringContaining('applied 001') });
    } finally {
      run.kill();
      await proxy.close();
      await database.drop();
    }
  });

  it('says in one line what is missing', async () => {
    const unset = await runMigrate(undefined);
    expect(unset).toMatchObject({ code: 78, err: expect.stringContaining('DATABASE_URL') });
    const away = await migrating('postgres://nobody@127.0.0.1:1/none', [], {
      ANGELIA_MIGRATE_WAIT_SECONDS: '0',
    }).ended;
    expect(away).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^angelia: migrate: .*ECONNREFUSED.*\n$/),
    });
    expect(unset.err.trim().split('\n')).toHaveLength(1);
  });

  it('014 waits for no open transaction and holds up no append', async () => {
    const database = await createTestDatabase();
    await database.query('ALTER TABLE angelia.events RESET (autovacuum_freeze_min_age)');
    await database.query(
      'ALTER TABLE angelia_views_1.sessions RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold, vacuum_index_cleanup)',
    );
    // A service that runs already: it has its connection, and does not ask again which migrations there are.
    const log = openEventLog({ url: database.url, instance: 'busy', holder: 'busy#1' });
    const stream = randomUUID();
    await log.append(appendTo(stream, 0));
    await database.query('DELETE FROM angelia.migrations WHERE number = 14');
    const writer = new pg.Client({ connectionString: database.url });
    await writer.connect();
    try {
      // A slow service: it has written to both tables and does not commit until everything else is done.
      await writer.query('BEGIN');
      await writer.query('UPDATE angelia_views_1.sessions SET version = version');
      await writer.query(
        `INSERT INTO angelia.events (stream_id, version, epoch, schema_version, event_id, recorded_at, type, data, meta)
         VALUES ('slow', 1, 1, 1, gen_random_uuid(), now(), 'test.happened', '{}', '{}')`,
      );
      let migrated = false;
      let appended = 1;
      const appending = (async () => {
        for (; !migrated || appended < 10; appended += 1) await log.append(appendTo(stream, appended));
      })();
      expect((await migrate({ url: database.url })).applied).toContain('014_autovacuum.sql');
      migrated = true;
      await appending;
      await writer.query('COMMIT');
      expect(await log.streams.read(stream)).toHaveLength(appended);
      expect(await log.streams.read('slow')).toHaveLength(1);
    } finally {
      await writer.end();
      await log.close();
    }
    expect(await autovacuumOf(database, 'angelia.events')).toEqual(['autovacuum_freeze_min_age=0']);
    expect(await autovacuumOf(database, 'angelia_views_1.sessions')).toEqual(OF_SESSIONS);
    await database.drop();
  });

  it('makes every build of the views with the same settings of autovacuum', async () => {
    const database = await createTestDatabase();
    expect(await autovacuumOf(database, 'angelia_views_1.sessions')).toEqual(OF_SESSIONS);
    await rebuildViews({ url: database.url, project: countingProjection });
    expect(await autovacuumOf(database, 'angelia_views_2.sessions')).toEqual(OF_SESSIONS);
    await database.drop();
  });

  it('that has not run yet is what a call of the log reports', async () => {
    const database = await createTestDatabase({ migrated: false });
    const log = openEventLog({ url: database.url, instance: 'early', holder: 'early#1' });
    await expect(log.status.check()).rejects.toMatchObject({ code: 'not_migrated', retryable: true });
    await migrate({ url: database.url });
    expect(await log.status.check()).toEqual([]);
    await log.close();
    await database.drop();
  });
});

describe('roles', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  async function as(role: string, statement: string): Promise<string> {
    const client = new pg.Client({ connectionString: database.url, options: `-c role=${role}` });
    await client.connect();
    try {
      await client.query(statement);
      return 'done';
    } catch (error) {
      return (error as { code: string }).code;
    } finally {
      await client.end();
    }
  }

  it('services append and read, and cannot change what happened', async () => {
    const log = openEventLog({ url: database.url, instance: 'service', holder: 'service#1' });
    expect(await log.status.check()).toEqual([]);
    const stream = randomUUID();
    await log.append({
      ...appendTo(stream, 0),
      key: { key: stream, keepSeconds: 60 },
      lease: { resource: stream, holder: 'x#1', seconds: 9 },
    });
    const running = await log.database.durable.query({ name: '', text: 'SELECT current_user' }, []);
    expect(running[0]?.[0]).toBe('angelia_service');
    for (const statement of [
      "UPDATE angelia.events SET type = 'x'",
      'DELETE FROM angelia.events',
      'TRUNCATE angelia.events',
      'DROP TABLE angelia.events',
      'ALTER TABLE angelia.events DISABLE TRIGGER ALL',
      'CREATE TABLE angelia.mine (n int)',
      'UPDATE angelia.cluster SET epoch = 9',
      'DELETE FROM angelia.migrations',
    ]) {
      expect([statement, await as('angelia_service', statement)]).toEqual([statement, '42501']);
    }
    expect(await log.streams.read(stream)).toHaveLength(1);
    await log.close();
  });

  it('the pruner deletes and does not write', async () => {
    const stream = randomUUID();
    expect(await as('angelia_pruner', "UPDATE angelia.events SET type = 'x'")).toBe('42501');
    expect(await as('angelia_pruner', 'TRUNCATE angelia.events')).toBe('42501');
    expect(await as('angelia_pruner', `DELETE FROM angelia.events WHERE stream_id = '${stream}'`)).toBe(
      'done',
    );
  });

  it('that the login can neither create nor take cause a one-line warning, and the work goes on', async () => {
    const own = await createTestDatabase({ migrated: false });
    const login = `plain_${randomUUID().slice(0, 8)}`;
    await own.query(`CREATE ROLE ${login} LOGIN PASSWORD 'secret'`);
    await own.query(`GRANT CREATE ON DATABASE ${new URL(own.url).pathname.slice(1)} TO ${login}`);
    const url = new URL(own.url);
    url.username = login;
    url.password = 'secret';
    const { warnings } = await migrate({ url: url.toString() });
    expect(warnings).toEqual([expect.stringContaining('angelia_service')]);
    expect(warnings[0]).not.toContain('\n');
    const log = openEventLog({ url: url.toString(), instance: 'plain', holder: 'plain#1' });
    expect(await log.status.check()).toEqual([expect.stringContaining('angelia_service')]);
    expect((await log.append(appendTo(randomUUID(), 0))).status).toBe('appended');
    await log.close();
    await own.drop();
    await database.query(`DROP ROLE ${login}`);
  });

  it('are created and taken by a login that may create roles', async () => {
    const own = await createTestDatabase({ migrated: false });
    const login = `creator_${randomUUID().slice(0, 8)}`;
    await own.query(`CREATE ROLE ${login} LOGIN CREATEROLE PASSWORD 'secret'`);
    for (const role of ['angelia_migrator', 'angelia_service', 'angelia_pruner']) {
      await own.query(`GRANT ${role} TO ${login} WITH ADMIN OPTION`);
    }
    await own.query(
      `GRANT CREATE ON DATABASE ${new URL(own.url).pathname.slice(1)} TO ${login} WITH GRANT OPTION`,
    );
    const url = new URL(own.url);
    url.username = login;
    url.password = 'secret';
    expect((await migrate({ url: url.toString() })).warnings).toEqual([]);
    const owners = await own.query(
      "SELECT tableowner FROM pg_tables WHERE schemaname = 'angelia' AND tablename = 'events'",
    );
    expect(owners).toEqual([{ tableowner: 'angelia_migrator' }]);
    await own.drop();
    await database.query(`DROP ROLE ${login}`);
  });

  it('of a restored or copied database: the migrator may create schemas again, or a warning says what the owner must run', async () => {
    const own = await createTestDatabase();
    const name = new URL(own.url).pathname.slice(1);
    const mayCreate = async () =>
      (
        await own.query(
          "SELECT has_database_privilege('angelia_migrator', current_database(), 'CREATE') AS may",
        )
      )[0];
    await own.query(`REVOKE CREATE ON DATABASE ${name} FROM angelia_migrator`);
    expect((await migrate({ url: own.url })).warnings).toEqual([]);
    expect(await mayCreate()).toEqual({ may: true });

    await own.query(`REVOKE CREATE ON DATABASE ${name} FROM angelia_migrator`);
    const login = `plain_${randomUUID().slice(0, 8)}`;
    await own.query(`CREATE ROLE ${login} LOGIN PASSWORD 'secret'`);
    for (const role of ['angelia_migrator', 'angelia_service', 'angelia_pruner'])
      await own.query(`GRANT ${role} TO ${login}`);
    const url = new URL(own.url);
    url.username = login;
    url.password = 'secret';
    expect((await migrate({ url: url.toString() })).warnings).toEqual([
      `views cannot be rebuilt until the owner of the database runs GRANT CREATE ON DATABASE ${name} TO angelia_migrator`,
    ]);
    await own.drop();
    await database.query(`DROP ROLE ${login}`);
  });
});

describe('another cluster', () => {
  it('is refused by the log and by migrate until the epoch is raised; then old events come before new ones', async () => {
    const database = await createTestDatabase();
    const before = openEventLog({ url: database.url, instance: 'before', holder: 'before#1' });
    const old = randomUUID();
    await before.append(appendTo(old, 0));
    await before.close();
    // As after a restore: rows carry transaction ids that this cluster has not reached yet.
    await database.query("UPDATE angelia.events SET tx = '999999999999'::xid8");
    await database.query('UPDATE angelia.cluster SET system_identifier = 42');

    const log = openEventLog({ url: database.url, instance: 'after', holder: 'after#1' });
    await expect(log.status.check()).rejects.toMatchObject({ code: 'wrong_cluster', retryable: false });
    await expect(log.append(appendTo(randomUUID(), 0))).rejects.toMatchObject({ code: 'wrong_cluster' });
    expect(await runMigrate(database.url)).toMatchObject({
      code: 78,
      err: expect.stringContaining('--raise-epoch'),
    });

    expect(await runMigrate(database.url, '--raise-epoch')).toMatchObject({ code: 0 });
    const fresh = randomUUID();
    expect((await log.append(appendTo(fresh, 0))).status).toBe('appended');
    expect((await log.append(appendTo(old, 1))).status).toBe('appended');
    // Open transactions of other tests hide the tail for a moment.
    const events = await eventually(async () => {
      const page = await log.tail.read(TAIL_START, 10, { data: false });
      return page.events.length === 3 ? page.events : null;
    });
    expect(events.map((event) => [event.streamId, event.version, event.cursor.epoch])).toEqual([
      [old, 1, 1],
      [fresh, 1, 2],
      [old, 2, 2],
    ]);
    expect((await raiseEpoch({ url: database.url })).epoch).toBe(3);
    await log.close();
    await database.drop();
  });
});
