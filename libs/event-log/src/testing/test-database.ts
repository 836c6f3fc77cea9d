import { randomBytes } from 'node:crypto';
import { pause } from '@angelia/waiting';
import pg from 'pg';
import { migrate } from '../admin/migrate.ts';
import { MIGRATOR_ROLE } from '../admin/roles.ts';

/**
 * For logs in tests that are not about an outage. A busy machine may take longer than the 5 s of production to begin a
 * connection. What is away is refused at once.
 */
export const PATIENT = { connectMs: 60_000 } as const;

export interface TestDatabase {
  readonly url: string;
  /** Runs statements as the superuser, not through the log. */
  query<Row extends pg.QueryResultRow = pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  drop(): Promise<void>;
}

const TEMPLATE = 'angelia_test_template';

/** Creates the migrated database that test databases are copied from, and returns its name. Nobody may connect to it. */
export async function createTemplateDatabase(server: string): Promise<string> {
  await once(server, `CREATE DATABASE ${TEMPLATE}`);
  await migrate({ url: urlOf(server, TEMPLATE) });
  return TEMPLATE;
}

/**
 * Each test file has its own database, in the Postgres that the test run started (ANGELIA_TEST_PG) or in `server`. In the
 * former it is a copy of ANGELIA_TEST_TEMPLATE. FILE_COPY needs the least CPU (17 ms; WAL_LOG 37, migrating 120), and
 * nothing waits for its checkpoints in a Postgres without fsync.
 */
export async function createTestDatabase(
  options: { migrated?: boolean; server?: string } = {},
): Promise<TestDatabase> {
  const server = options.server ?? process.env.ANGELIA_TEST_PG;
  if (!server)
    throw new Error('ANGELIA_TEST_PG is not set: run the tests with `npm test`, or set it to a Postgres url');
  const name = `angelia_test_${randomBytes(8).toString('hex')}`;
  const url = urlOf(server, name);
  const template = options.server === undefined ? process.env.ANGELIA_TEST_TEMPLATE : undefined;
  if (options.migrated === false || !template) {
    await once(server, `CREATE DATABASE ${name}`);
    if (options.migrated !== false) await migrate({ url });
  } else {
    await once(server, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`);
    await once(server, `GRANT CREATE ON DATABASE ${name} TO ${MIGRATOR_ROLE}`); // A copy does not have the rights of its template.
  }
  const pool = new pg.Pool({ connectionString: url, max: 4, allowExitOnIdle: true });
  pool.on('error', () => {}); // A test may end its own connections.
  return {
    url,
    query: async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) =>
      (await pool.query<Row>(text, values)).rows,
    drop: async () => {
      await pool.end();
      await dropDatabase(server, name);
    },
  };
}

/** Tries again while an autovacuum worker is connected: it belongs to the superuser, so FORCE may not end it. */
async function dropDatabase(server: string, name: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await once(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    } catch (error) {
      const busy = ['42501', '55006'].includes(String((error as { code?: unknown }).code));
      if (!busy || tries === 50) throw error;
      await pause(100);
    }
  }
}

function urlOf(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.toString();
}

async function once(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
