// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is a variable of the config
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectBus } from '@angelia/bus';
import { NatsServer } from '@angelia/bus/testing';
import { ledLoops } from '@angelia/event-log/leading';
import { freshTraceparent, newEventId, newSessionId, traceIdOf } from '@angelia/sessions';
import { createTestDatabase, eventually, startOtlpReceiver, type TestDatabase } from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '../logs/logger.ts';
import { Cuttable, RunningService } from '../testing/running-service.ts';
import { VERSION } from '../version.ts';

/** The smallest service: it does only what the kit does for every service. */
const MAIN = 'dist/process-watcher.js';

let nats: NatsServer;
let database: TestDatabase;
let services: RunningService[];
let dataDirectory: string;

beforeAll(async () => {
  dataDirectory = await mkdtemp(join(tmpdir(), 'angelia-life-'));
  nats = await NatsServer.start();
});
afterAll(async () => {
  await nats.dispose();
  await rm(dataDirectory, { recursive: true });
});
beforeEach(async () => {
  services = [];
  database = await createTestDatabase();
});
afterEach(async () => {
  await Promise.all(services.map((service) => service.kill()));
  await database.drop();
});

async function start(env: NodeJS.ProcessEnv = {}, main = MAIN): Promise<RunningService> {
  const service = await RunningService.start(main, {
    DATABASE_URL: database.url,
    NATS_URL: nats.url,
    ANGELIA_INSTANCE: 'process-watcher',
    ANGELIA_DATA: dataDirectory,
    ANGELIA_DEMO_SECRET: 'demo-secret-of-the-test',
    ...env,
  });
  services.push(service);
  return service;
}

const ready = (service: RunningService) =>
  eventually(async () => (await service.get('/readyz'))?.status === 200, {
    describe: () => service.stdout + service.stderr,
  });

const notReadyBecauseOf = (service: RunningService, check: string) =>
  eventually(async () => {
    const answer = await service.get('/readyz');
    const failed = answer?.body.checks?.[check] as { ok: boolean; reason?: string } | undefined;
    return answer?.status === 503 && failed?.ok === false && failed.reason;
  });

describe('the life of a service', () => {
  it('becomes ready, logs JSON lines without secrets, drains on SIGTERM and exits with 0', async () => {
    const service = await start();
    await ready(service);
    expect(await service.get('/healthz')).toEqual({ status: 200, body: { status: 'ok' } });
    expect((await service.get('/readyz'))?.body).toMatchObject({
      status: 'ready',
      checks: { postgres: { ok: true }, nats: { ok: true }, startup: { ok: true } },
    });
    // It says that it is there, and no longer when it has stopped.
    const seen = () => database.query("SELECT resource FROM angelia.leases WHERE resource LIKE 'service:%'");
    const presence = { resource: `service:process-watcher:${VERSION}:process-watcher` };
    await eventually(async () => (await seen()).length === 1);
    expect(await seen()).toEqual([presence]);
    service.signal('SIGTERM');
    expect(await service.exited).toEqual({ code: 0, signal: null });
    expect(await seen()).toEqual([]);
    expect(service.stderr).toBe('');
    expect(service.lines.map((line) => line.msg)).toEqual(
      expect.arrayContaining(['at work', 'draining', 'drained and closed']),
    );
    for (const line of service.lines) {
      expect(line).toMatchObject({
        service: 'process-watcher',
        instance: 'process-watcher',
        level: expect.any(String),
      });
    }
    expect(service.stdout).not.toContain(new URL(database.url).password || 'no password');
    expect(service.stdout).not.toContain('demo-secret');
  });

  it('reads its variables from .env beside the config, which never override the environment', async () => {
    const directory = join(dataDirectory, 'with-env');
    await mkdir(directory);
    const path = join(directory, 'angelia.yaml');
    await writeFile(path, 'process_watcher: { environment: { NAME: "${GIVEN}" } }', { mode: 0o600 });
    const lines = [
      `DATABASE_URL=${database.url}`,
      'NATS_URL=nats://nowhere:1',
      'GIVEN=x',
      'MODEL_KEY=secret',
    ];
    await writeFile(join(directory, '.env'), lines.join('\n'), { mode: 0o600 });
    const service = await start({ ANGELIA_CONFIG: path, DATABASE_URL: '' });
    await ready(service);
    service.signal('SIGTERM');
    expect((await service.exited).code).toBe(0);
  });

  it('takes the leads if it runs no commands, and gives them back when it stops', async () => {
    const held = () =>
      database.query('SELECT name FROM angelia.leaders WHERE holder IS NOT NULL AND expires_at > now()');
    const watcher = await start();
    await ready(watcher);
    expect(await held()).toEqual([]);
    const service = await start({ ANGELIA_INSTANCE: 'delivery' }, 'dist/delivery.js');
    await ready(service);
    await eventually(async () => (await held()).length === ledLoops.length);
    service.signal('SIGINT');
    await service.exited;
    expect(await held()).toEqual([]);
  });

  it('stays up without Postgres, reports it, and continues when Postgres is back', async () => {
    const url = new URL(database.url);
    const way = await Cuttable.to(Number(url.port));
    url.port = String(way.port);
    const service = await start({ DATABASE_URL: url.toString() });
    try {
      await notReadyBecauseOf(service, 'postgres');
      expect((await service.get('/healthz'))?.status).toBe(200);
      await way.mend();
      await ready(service);
      await way.cut();
      await notReadyBecauseOf(service, 'postgres');
      expect((await service.get('/healthz'))?.status).toBe(200);
      await way.mend();
      await ready(service);
    } finally {
      await way.cut();
    }
    service.signal('SIGTERM');
    expect((await service.exited).code).toBe(0);
  });

  it('can be stopped while it waits for Postgres', async () => {
    const service = await start({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
    await notReadyBecauseOf(service, 'postgres');
    service.signal('SIGTERM');
    expect((await service.exited).code).toBe(0);
  });

  it('stays up without NATS, reports it, and continues when NATS is there', async () => {
    const own = await NatsServer.prepare();
    const service = await start({ NATS_URL: own.url });
    try {
      await notReadyBecauseOf(service, 'nats');
      await own.start();
      await ready(service);
      await own.stop();
      await notReadyBecauseOf(service, 'nats');
      expect((await service.get('/healthz'))?.status).toBe(200);
    } finally {
      await own.dispose();
    }
  });
});

describe('a start that needs a person: one line and exit code 78', () => {
  async function refusal(env: NodeJS.ProcessEnv, main?: string): Promise<string> {
    const service = await start(env, main);
    const { code } = await service.exited;
    expect({ code, stderr: service.stderr }).toMatchObject({ code: 78 });
    expect(service.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(service.stderr).toMatch(/^angelia: /);
    return service.stderr;
  }

  it('a variable of the config that is not set', async () => {
    const path = join(dataDirectory, 'angelia.yaml');
    await writeFile(path, 'process_watcher: { environment: { NAME: "${NOT_SET}" } }');
    expect(await refusal({ ANGELIA_CONFIG: path })).toContain('process_watcher.environment.NAME');
  });

  it('a config file that does not exist', async () => {
    expect(await refusal({ ANGELIA_CONFIG: '/nowhere.yaml' })).toContain('/nowhere.yaml');
  });

  it('a config file that the commands of its agents can read; check-config reports it too', async () => {
    const directory = join(dataDirectory, 'open');
    const path = join(directory, 'angelia.yaml');
    await mkdir(directory);
    await writeFile(
      path,
      'models: { m: { provider: builtin, model: echo } }\nagents: { default: { model: m, toolsets: [terminal] } }',
    );
    await Promise.all([chmod(dataDirectory, 0o755), chmod(directory, 0o755), chmod(path, 0o644)]);
    for (const main of [MAIN, 'dist/check-config.js']) {
      expect(await refusal({ ANGELIA_CONFIG: path }, main)).toContain(`chmod 600 ${path}`);
    }
  });

  it('a missing environment variable', async () => {
    expect(await refusal({ DATABASE_URL: '' })).toContain('DATABASE_URL');
  });

  it('a log that was written in another cluster', async () => {
    await database.query('UPDATE angelia.cluster SET system_identifier = 1');
    expect(await refusal({})).toContain('--raise-epoch');
  });

  it('a port that another program uses', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    try {
      expect(await refusal({ ANGELIA_ADMIN_PORT: String(port) })).toContain(`port ${port}`);
    } finally {
      other.close();
    }
  });
});

describe('telemetry', () => {
  it('the span of a handled hint belongs to the trace of the event; probes and polls make no traces', async () => {
    const receiver = await startOtlpReceiver();
    const logger = createLogger({
      service: 't',
      instance: 't',
      level: 'silent',
      destination: { write: () => {} },
    });
    const bus = connectBus({ url: nats.url, name: 'test', replicas: 1, logger });
    try {
      const service = await start({
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
        OTEL_BSP_SCHEDULE_DELAY: '100',
        OTEL_ANGELIA_INTERNALS: 'true',
      });
      await ready(service);
      const traceparent = freshTraceparent().replace(/00$/, '01');
      await bus.whenReady();
      await bus.publishHints([
        { stream_id: newSessionId(), version: 1, type: 'tool.started', traceparent, messageId: newEventId() },
      ]);
      const spans = await receiver.traceWith(traceIdOf(traceparent) ?? '', ['consume tool.started']);
      expect(spans[0]).toMatchObject({
        service: 'angelia-process-watcher',
        parentSpanId: traceparent.split('-')[2],
      });
      service.signal('SIGTERM');
      expect((await service.exited).code).toBe(0);
      const foreign = receiver.spans.filter((span) => span.traceId !== traceIdOf(traceparent));
      expect(foreign.map((span) => span.name)).toEqual([]);
      expect(receiver.problems).toEqual([]);
    } finally {
      await bus.close();
      await receiver.stop();
    }
  });

  it.each([
    ['one for all signals', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }, ['/v1/metrics', '/v1/traces']],
    ['one for traces', { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: '/only/traces' }, ['/only/traces']],
    ['one for metrics', { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: '/only/metrics' }, ['/only/metrics']],
  ])('is protobuf over HTTP, and goes to what has an endpoint: %s', async (_which, endpoints, paths) => {
    const receiver = await startOtlpReceiver();
    const logger = createLogger({
      service: 't',
      instance: 't',
      level: 'silent',
      destination: { write: () => {} },
    });
    const bus = connectBus({ url: nats.url, name: 'test', replicas: 1, logger });
    try {
      const service = await start({
        ...Object.fromEntries(
          Object.entries(endpoints).map(([name, path]) => [name, `${receiver.endpoint}${path}`]),
        ),
        OTEL_BSP_SCHEDULE_DELAY: '100',
        OTEL_METRIC_EXPORT_INTERVAL: '200',
        OTEL_METRIC_EXPORT_TIMEOUT: '200',
        OTEL_ANGELIA_INTERNALS: 'true',
      });
      await ready(service);
      await bus.whenReady();
      const traceparent = freshTraceparent().replace(/00$/, '01');
      await bus.publishHints([
        { stream_id: newSessionId(), version: 1, type: 'tool.started', traceparent, messageId: newEventId() },
      ]);
      const received = () => [...new Set(receiver.requests.map(({ path }) => path))].sort();
      await eventually(() => received().length >= paths.length);
      service.signal('SIGTERM');
      // The last export is part of the exit: nothing else follows.
      expect((await service.exited).code).toBe(0);
      expect(received()).toEqual(paths);
      expect([...new Set(receiver.requests.map(({ contentType }) => contentType))]).toEqual([
        'application/x-protobuf',
      ]);
    } finally {
      await bus.close();
      await receiver.stop();
    }
  });
});
