import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startPostgres } from '@angelia/local';
import {
  callTool,
  eventually,
  type ModelRequest,
  type ModelServer,
  type Sink,
  say,
  startModelServer,
  startSink,
  startTestStack,
  TEST_SINK_SECRET,
  type TestStack,
  testConfig,
} from '@angelia/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { copyDatabase } from './copy-database.ts';
import { ViewsObserver } from './views.ts';

// docs/backup.md: a dump under load, restored into a new cluster, where the services continue (the epoch rule of DESIGN.md).

const REPOSITORY = join(import.meta.dirname, '../..');
/** Far more than the new cluster uses before it works, so that its transaction ids start below those of the dump. */
const OLD_CLUSTERS_AGE = 3_000;

type Cluster = Awaited<ReturnType<typeof startPostgres>>;

let sink: Sink;
let model: ModelServer;
let directory: string;
let clusters: Cluster[] = [];
let stack: TestStack | undefined;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'angelia-backup-'));
  const cluster = (name: string) => startPostgres({ dataDir: join(directory, name), durable: false });
  [sink, model] = await Promise.all([startSink({ secret: TEST_SINK_SECRET }), startModelServer()]);
  clusters = [await cluster('old'), await cluster('new')];
});
afterAll(async () => {
  await stack?.stop();
  for (const cluster of clusters) await cluster.stop();
  await Promise.all([sink?.stop(), model?.stop()]);
  await rm(directory, { recursive: true, force: true });
});

const config = () =>
  testConfig({ sinkUrl: sink.url, modelUrl: model.baseUrl, agent: { toolsets: ['clarify'] } });
const startOn = ({ url }: Cluster) => startTestStack({ config: config(), env: { DATABASE_URL: url } });

/** Queries as the superuser, in the database of the services. */
function asSuperuser({ url, superuserUrl }: Cluster): string {
  return new URL(new URL(url).pathname, superuserUrl).toString();
}

async function run(script: string, env: Record<string, string>) {
  try {
    const args = [join(REPOSITORY, script), ...(env.ARGUMENT === undefined ? [] : [env.ARGUMENT])];
    const done = await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...env } });
    return { code: 0, said: done.stdout };
  } catch (error) {
    const { code, stderr } = error as { code: number; stderr: string };
    return { code, said: stderr };
  }
}

function decideStep({ input, results }: ModelRequest) {
  if (input === 'ask' && results.length === 0) return callTool('clarify', { question: 'Which one?' });
  return say(input === 'ask' ? `took ${results[0]}` : `answer to: ${input}`);
}

it('a dump restored into a new cluster: the services refuse it until the epoch is raised, then continue all work', async () => {
  const [old, fresh] = clusters as [Cluster, Cluster];
  model.behave((request) => (request.input === 'hangs' ? say('never', 120_000) : decideStep(request)));
  stack = await startOn(old);
  const before = await ViewsObserver.connect(old.url);
  for (let n = 0; n < OLD_CLUSTERS_AGE; n += 1) await before.query('SELECT pg_current_xact_id()');

  const deliveryId = randomUUID();
  const { sessionId: done } = await stack.post({ deliveryId, body: { text: 'done' } });
  const { sessionId: waiting } = await stack.post({ body: { text: 'ask' } });
  const { sessionId: running } = await stack.post({ body: { text: 'hangs' } });
  await stack.waitForEnd(done, { settled: true });
  await eventually(async () => (await stack?.session(waiting))?.status === 'waiting');
  await eventually(() => sink.taken(waiting).length === 1);
  await eventually(() => model.requests.some(({ input }) => input === 'hangs'));
  const transcript = await stack.adminGet(`/v1/sessions/${done}/transcript`);

  expect((await run(MIGRATE, { DATABASE_URL: fresh.url })).code).toBe(0);
  await copyDatabase(asSuperuser(old), asSuperuser(fresh));
  const { sessionId: lost } = await stack.post({ body: { text: 'after the dump' } });
  const [highest] = await before.query<{ tx: string }>(
    'SELECT max(tx::text::bigint) AS tx FROM angelia.events',
  );
  await before.close();
  await stack.stop();
  stack = undefined;

  // Nothing works on it by accident: `migrate`, which every start runs first, and each service name the command.
  const migrated = await run(MIGRATE, { DATABASE_URL: fresh.url });
  expect(migrated).toEqual({ code: 78, said: expect.stringMatching(/^angelia: .*--raise-epoch/) });
  const configPath = join(directory, 'angelia.yaml');
  await writeFile(configPath, config());
  const service = await run('dist/delivery.js', {
    ANGELIA_CONFIG: configPath,
    ANGELIA_DATA: directory,
    ANGELIA_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
    DATABASE_URL: fresh.url,
    NATS_URL: 'nats://127.0.0.1:9',
  });
  expect(service).toEqual({ code: 78, said: expect.stringMatching(/^angelia: .*--raise-epoch/) });
  const raised = await run(MIGRATE, { DATABASE_URL: fresh.url, ARGUMENT: '--raise-epoch' });
  expect(raised).toEqual({ code: 0, said: expect.stringContaining('epoch is now 2') });

  model.behave(decideStep);
  stack = await startOn(fresh);
  const after = await ViewsObserver.connect(fresh.url);
  try {
    const [now] = await after.query<{ tx: string }>('SELECT pg_current_xact_id()::text AS tx');
    expect(Number(now?.tx)).toBeLessThan(Number(highest?.tx));
    // Work in flight continues, ended sessions stay ended, and a repeated webhook is recognised.
    expect(await stack.waitForEnd(running, { settled: true })).toMatchObject({ outcome: 'succeeded' });
    expect(sink.answersOf(running)).toEqual(['answer to: hangs']);
    expect((await stack.session(waiting)).status).toBe('waiting');
    const reply = await fetch(new URL(`/v1/sessions/${waiting}/messages`, stack.baseUrl), {
      method: 'POST',
      headers: { authorization: `Bearer ${stack.adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'the second' }),
    });
    expect(reply.status).toBe(202);
    await stack.waitForEnd(waiting, { settled: true });
    expect(sink.answersOf(waiting)).toEqual([expect.stringContaining('the second')]);
    expect(await stack.adminGet(`/v1/sessions/${done}/transcript`)).toEqual(transcript);
    expect(sink.answersOf(done)).toHaveLength(1);
    const again = await stack.post({ deliveryId, body: { text: 'done' } });
    expect([again.status, again.sessionId]).toEqual([200, done]);
    await expect(stack.session(lost)).rejects.toThrow(/404/);

    // Relay and views see new events after old ones, although the new transaction ids are smaller.
    const { sessionId: next } = await stack.post({ body: { text: 'next' } });
    await stack.waitForEnd(next, { settled: true });
    await eventually(async () => {
      expect(await after.views()).toEqual(await after.folded());
      return true;
    });
    const { items } = await stack.adminGet<{ items: { id: string }[] }>('/v1/sessions');
    expect(new Set(items.map(({ id }) => id))).toEqual(new Set([done, waiting, running, next]));
  } finally {
    await after.close();
  }
});

const MIGRATE = 'dist/migrate.js';
