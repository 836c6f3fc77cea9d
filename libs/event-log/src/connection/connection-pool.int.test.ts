import { eventually } from '@angelia/testkit';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import pg from 'pg';
import { type EventLog, openEventLog } from '../event-log.ts';
import { createTestDatabase, type TestDatabase } from '../testing/test-database.ts';

/** No statement is given up while a busy machine opens the connections of the others. */
const PATIENT = { statementMs: 120_000, lockMs: 120_000, answerMs: 120_000, connectMs: 120_000 };

let database: TestDatabase;
let log: EventLog;

beforeEach(async () => {
  database = await createTestDatabase();
  log = openEventLog({
    url: database.url,
    instance: 'pools',
    holder: 'pools#1',
    timeouts: { ...PATIENT, idleMs: 50 },
  });
});
afterEach(async () => {
  await log.close();
  await database.drop();
});

async function connections(): Promise<number> {
  const rows = await database.query("SELECT FROM pg_stat_activity WHERE application_name = 'pools'");
  return rows.length;
}

it('a service at rest keeps three connections, however many a load has opened', async () => {
  const { durable, relaxed } = log.database;
  const gate = new pg.Client({ connectionString: database.url });
  await gate.connect();
  await gate.query('BEGIN');
  await gate.query('LOCK TABLE angelia.leaders');
  const read = { name: 'leaders', text: 'SELECT FROM angelia.leaders' };
  const load = [durable, durable, durable, relaxed, relaxed, relaxed, relaxed].map((pool) =>
    pool.query(read, []),
  );
  await eventually(async () => (await connections()) === load.length);
  await gate.query('COMMIT');
  await gate.end();
  await Promise.all(load);
  await eventually(async () => (await connections()) === 3);
  expect([durable.use, relaxed.use]).toEqual([
    { busy: 0, idle: 1, waiting: 0 },
    { busy: 0, idle: 2, waiting: 0 },
  ]);
});
