import { openEventLog } from '@angelia/event-log';
import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { signedPost } from '@angelia/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { apiCall } from '../../testing/api-call.ts';
import { startIngress, type TestIngress } from '../../testing/ingress.ts';
import { viewsUpToDate } from '../../testing/views.ts';
import { openWorker, type Worker } from '../../testing/worker.ts';
import type { DoctorJson, SystemJson } from './system.operations.ts';

const SECRET = 'webhook-secret-of-all-routes';

let database: TestDatabase;
let ingress: TestIngress;
let worker: Worker;

beforeAll(async () => {
  database = await createTestDatabase();
  ingress = await startIngress({
    databaseUrl: database.url,
    config: {
      secret: SECRET,
      jaeger_url: 'https://jaeger.example.com/',
      models: {
        main: { provider: 'openai', model: 'm', api_key: 'key-of-the-model', headers: { 'x-team': 'hush' } },
      },
      mcp_servers: { files: { command: 'files', env: { WORKSPACE: 'kept-to-ourselves' } } },
      targets: { telegram: { bot_token: 'token-of-the-bot' } },
      agents: { default: { model: 'main' } },
      routes: { hook: { prompt: `{text} ${SECRET}` } },
    },
  });
  worker = openWorker({ databaseUrl: database.url });
});

afterAll(async () => {
  await worker?.close();
  await ingress?.close();
  await database?.drop();
});

let later = 0;

/** A new answer: the one that is shared is too young to be computed again. */
async function freshSystem(): Promise<SystemJson> {
  const real = performance.now;
  later += 600_000;
  performance.now = () => real.call(performance) + later;
  try {
    const { status, body } = await apiCall(ingress, '/v1/system');
    expect(status).toBe(200);
    return body as unknown as SystemJson;
  } finally {
    performance.now = real;
  }
}

it('shows the services that were seen, and which of them vanished', async () => {
  const log = openEventLog({ url: database.url, instance: 'delivery-1', holder: 'delivery-1#a' });
  const other = openEventLog({ url: database.url, instance: 'runner:old', holder: 'runner:old#b' });
  try {
    const delivery = { service: 'delivery', version: '0.2.0', instance: 'delivery-1' };
    await log.presence.announce(delivery, 20);
    await other.presence.announce({ service: 'agent-runner', version: '0.1.9', instance: 'runner:old' }, 20);
    await database.query(
      `UPDATE angelia.leases SET expires_at = now() - interval '1 second' WHERE resource LIKE 'service:agent-runner:%'`,
    );
    await database.query(
      `INSERT INTO angelia.leaders VALUES ('relay', 'delivery-1#a', 1, now() + interval '1 hour')
       ON CONFLICT (name) DO UPDATE SET holder = EXCLUDED.holder, expires_at = EXCLUDED.expires_at`,
    );
    const { services, leaders, lag, migrations, views } = await freshSystem();
    expect(services).toContainEqual({
      ...delivery,
      status: 'alive',
      seen_at: expect.any(String),
      leads: ['relay'],
    });
    expect(services).toContainEqual(expect.objectContaining({ version: '0.1.9', status: 'lost', leads: [] }));
    expect(leaders).toEqual([{ name: 'relay', instance: 'delivery-1' }]);
    expect(lag.tail_ms).toBeGreaterThanOrEqual(0);
    expect(migrations.applied).toBe(migrations.needed);
    expect(views.version).toBe(views.needed);

    // It comes back with another version, and says so when it stops.
    await log.presence.announce({ ...delivery, version: '0.3.0' }, 20);
    expect((await freshSystem()).services.filter(({ instance }) => instance === 'delivery-1')).toMatchObject([
      { version: '0.3.0' },
    ]);
    await log.presence.withdraw({ ...delivery, version: '0.3.0' });
    await log.presence.withdraw(delivery);
    expect((await freshSystem()).services.some(({ instance }) => instance === 'delivery-1')).toBe(false);
  } finally {
    await other.close();
    await log.close();
  }
});

it('shows the config in force, without any secret', async () => {
  const { config, jaeger_url: jaeger } = await freshSystem();
  expect(config).toMatchObject({ file: 'angelia.yaml', in_force: 'file', problems: [] });
  expect(config.values).toMatchObject({
    secret: '[redacted]',
    models: { main: { provider: 'openai', api_key: '[redacted]', headers: { 'x-team': '[redacted]' } } },
    mcp_servers: { files: { env: { WORKSPACE: '[redacted]' } } },
    routes: { hook: { prompt: '{text} [redacted]' } },
  });
  const text = JSON.stringify(config);
  for (const secret of [SECRET, 'key-of-the-model', 'hush', 'kept-to-ourselves', 'token-of-the-bot']) {
    expect(text).not.toContain(secret);
  }
  expect(jaeger).toBe('https://jaeger.example.com');
});

it('names the targets and models that are down, with the list of what waits for them', async () => {
  const posted = await signedPost({
    baseUrl: ingress.baseUrl,
    route: 'hook',
    secret: SECRET,
    body: { text: 'a' },
  });
  await worker.answers(posted.sessionId, 'done');
  const { state } = await worker.does(posted.sessionId, (now) => ({
    type: 'attempt-delivery',
    output: now.outputs[0]?.output ?? 0,
    attempt: 1,
    sender: 'worker',
    deadlineSeconds: 60,
    now: Date.now(),
  }));
  const retryAt = Date.now() + 60_000;
  await worker.does(posted.sessionId, () => ({
    type: 'fail-delivery',
    output: state.outputs[0]?.output ?? 0,
    attempt: 1,
    reason: 'HTTP 503',
    retryAt,
  }));
  const waiting = await signedPost({
    baseUrl: ingress.baseUrl,
    route: 'hook',
    secret: SECRET,
    body: { text: 'b' },
  });
  await worker.startsRun(waiting.sessionId);
  await worker.does(waiting.sessionId, (now) => ({
    type: 'put-off-run',
    generation: now.generation,
    reason: 'unavailable',
    models: [{ model: 'main', code: 'overloaded', message: 'busy', called: true }],
    retryAt,
  }));
  await viewsUpToDate(database);
  const system = await freshSystem();
  expect(system.targets_down).toEqual([
    {
      target: 'log',
      deliveries: 1,
      exact: true,
      reason: 'HTTP 503',
      next_attempt_at: expect.any(String),
      list: '/v1/deliveries?status=pending&target=log',
    },
  ]);
  expect(system.models_down).toMatchObject([
    { model: 'main', code: 'overloaded', reason: 'unavailable', sessions: 1 },
  ]);
  for (const { list } of [...system.targets_down, ...system.models_down]) {
    expect((await apiCall(ingress, list)).body.items).toHaveLength(1);
  }
});

it('runs the checks of doctor where ingress runs, with the services that were seen', async () => {
  const { status, body } = await apiCall(ingress, '/v1/doctor');
  expect(status).toBe(200);
  const { healthy, findings } = body as unknown as DoctorJson;
  const stateOf = (check: string) => findings.find((finding) => finding.check === check)?.state;
  expect(stateOf('postgres.fsync')).toBeDefined();
  expect(stateOf('node')).toBeDefined();
  // Nothing but this test runs here, and it has no NATS.
  expect(stateOf('nats')).toBe('fault');
  expect(stateOf('service.agent-runner')).toBe('fault');
  expect(healthy).toBe(false);
  expect(
    findings.every(({ state, todo }) => state === 'ok' || state === 'skipped' || todo !== undefined),
  ).toBe(true);
  expect(JSON.stringify(findings)).not.toContain(SECRET);
});
