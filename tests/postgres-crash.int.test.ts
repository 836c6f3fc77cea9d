import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startStack } from '@angelia/local';
import { eventually } from '@angelia/testkit';
import { expect, it } from '@jest/globals';
import pg from 'pg';

// In tests/ and not in deploy/local because it takes a client to keep a backend busy.

const fake = resolve(dirname(fileURLToPath(import.meta.url)), '../deploy/local/src/testing/fake');
const service = join(fake, 'service.ts');

it('Postgres killed with -9 while a backend is busy comes back on its port, with what was committed', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'angelia-test-crash-'));
  const stack = await startStack({
    dataDir,
    port: 0,
    preparedCluster: process.env.ANGELIA_TEST_CLUSTER,
    scripts: {
      checkConfig: join(fake, 'check-config.ts'),
      migrate: join(fake, 'migrate.ts'),
      services: { ingress: service, 'agent-runner': service, delivery: service, 'process-watcher': service },
    },
  });
  try {
    await query(stack.databaseUrl, 'CREATE TABLE kept AS SELECT 1 AS one');
    const before = stack.pidOf('postgres') ?? 0;
    // It never waits, so it does not notice that its server is gone: it is what keeps the shared memory in use.
    const busy = query(stack.databaseUrl, 'SELECT count(*) FROM generate_series(1, 60000000)').catch(
      () => 'cut off',
    );
    await eventually(async () => (await query(stack.databaseUrl, BUSY)).length === 1);

    process.kill(before, 'SIGKILL');
    await eventually(async () => (await query(stack.databaseUrl, 'SELECT one FROM kept')).length === 1);
    expect(stack.pidOf('postgres')).not.toBe(before);
    await busy;
  } finally {
    await stack.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
});

const BUSY =
  "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%generate_series(1, 6%' AND pid <> pg_backend_pid()";

async function query(connectionString: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => {}); // the server is killed on purpose; the query rejects too
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
