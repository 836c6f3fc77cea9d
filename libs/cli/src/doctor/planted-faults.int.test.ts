import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Finding, isHealthy, renderFindings } from '@angelia/doctor';
import {
  createTestDatabase,
  eventually,
  startDiscord,
  startGithub,
  startMatrix,
  startMattermost,
  startModelServer,
  startSlack,
  startSmtp,
  startTelegram,
  type TestDatabase,
} from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { stringify } from 'yaml';
import { type ExamineOptions, examine } from './examine.ts';

// Each fault is real: the Postgres of the test run has fsync off, and the servers are real servers that really refuse.

const TOKEN = '123456:a-token-of-the-bot';
let directory: string;
let database: TestDatabase;
const stops: (() => unknown)[] = [];

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'angelia-doctor-'));
  database = await createTestDatabase();
});
afterAll(async () => {
  for (const stop of stops) await stop();
  await database.drop();
  rmSync(directory, { recursive: true, force: true });
});

function configFile(config: object, mode = 0o600): string {
  const path = join(directory, `${Math.random().toString(36).slice(2)}.yaml`);
  writeFileSync(path, stringify(config));
  chmodSync(path, mode);
  return path;
}

async function examined(config: object, options: Partial<ExamineOptions> = {}): Promise<Finding[]> {
  return examine({
    ingressUrl: 'http://127.0.0.1:1',
    timeoutMs: 60_000,
    ...options,
    env: {
      PATH: process.env.PATH,
      ANGELIA_DATA: join(directory, 'nothing-here'),
      ANGELIA_CONFIG: configFile(config),
      DATABASE_URL: database.url,
      NATS_URL: process.env.ANGELIA_TEST_NATS,
      ...options.env,
    },
  });
}

const finding = (findings: readonly Finding[], check: string) => findings.find((one) => one.check === check);

describe('tools', () => {
  it('a route whose agent runs any command is a warning that names it; one with a rule about that is none', async () => {
    const agent = { model: 'm', toolsets: ['terminal'] };
    const findings = await examined({
      models: { m: { provider: 'builtin', model: 'echo' } },
      agents: { open: agent, asked: { ...agent, tools: { policy: [{ tool: 'terminal', do: 'ask' }] } } },
      routes: {
        loose: { agent: 'open', secret: 'a-long-secret' },
        guarded: { agent: 'asked', secret: 'a-long-secret' },
      },
    });
    const warned = findings.filter(({ check }) => check === 'config.tools');
    expect(warned).toMatchObject([
      { state: 'warning', what: expect.stringContaining('routes.loose: its agent `open` runs any command') },
    ]);
  });
});

describe('Postgres', () => {
  it('with fsync off is a fault that names the setting and how to change it', async () => {
    const findings = await examined({});
    expect(finding(findings, 'postgres.fsync')).toMatchObject({
      state: 'fault',
      what: expect.stringContaining('fsync is off'),
      todo: expect.stringContaining('ALTER SYSTEM SET fsync = on'),
    });
    expect(finding(findings, 'postgres.full_page_writes')).toMatchObject({ state: 'fault' });
    expect(isHealthy(findings)).toBe(false);
    expect(renderFindings(findings).join('\n')).toMatch(/FAULT {3}postgres\.fsync .*\n +-> ALTER SYSTEM/);
  });

  it('that is down is one fault, and the other checks still run', async () => {
    const findings = await examined(
      {},
      { env: { DATABASE_URL: 'postgres://x:s3cretword@127.0.0.1:1/none' } },
    );
    expect(finding(findings, 'postgres')).toMatchObject({
      state: 'fault',
      what: expect.stringContaining('ECONNREFUSED'),
    });
    expect(finding(findings, 'nats')).toMatchObject({ state: 'ok' });
    expect(JSON.stringify(findings)).not.toContain('s3cretword');
  });

  it('that was not migrated is a fault that names the command', async () => {
    const empty = await createTestDatabase({ migrated: false });
    try {
      const findings = await examined({}, { env: { DATABASE_URL: empty.url } });
      expect(finding(findings, 'postgres.schema')).toMatchObject({
        state: 'fault',
        what: 'the database has no schema angelia',
        todo: expect.stringContaining('migrate'),
      });
    } finally {
      await empty.drop();
    }
  });

  it('with nothing wrong in the last hour says so; what is older, ignored, or of strangers does not count', async () => {
    const quiet = await createTestDatabase();
    const webhooks = (route: string, outcome: string, ago: string) =>
      quiet.query(`
        WITH c AS (INSERT INTO angelia.unstarted_webhook_counts
          VALUES ('${route}', '${outcome}', 'r', 3, 1, now() - interval '3 hours', now() - interval '${ago}'))
        INSERT INTO angelia.unstarted_webhooks (route, outcome, reason, slot, received_at, status, detail)
          VALUES ('${route}', '${outcome}', 'r', 0, now() - interval '${ago}', 401, 'why')`);
    try {
      await webhooks('old', 'unauthorized', '2 hours');
      await webhooks('quiet', 'ignored', '1 minute');
      await webhooks('(unknown)', 'unknown_route', '1 minute');
      const about = async () =>
        (await examined({}, { env: { DATABASE_URL: quiet.url } })).filter(({ check }) =>
          check.startsWith('last-hour'),
        );
      expect((await about()).map(({ check, state }) => [check, state])).toEqual([
        ['last-hour', 'ok'],
        ['last-hour.webhooks.(unknown)', 'ok'],
      ]);
      await webhooks('hook', 'unauthorized', '1 minute');
      expect(finding(await about(), 'last-hour.webhooks.hook')).toEqual({
        check: 'last-hour.webhooks.hook',
        state: 'warning',
        what: 'at least 1 webhook refused (unauthorized: r); the last: why',
        todo: 'run `angelia webhooks list --route hook --outcome unauthorized`',
      });
    } finally {
      await quiet.drop();
    }
  });

  it('with a log that was restored from another cluster is a fault that names --raise-epoch', async () => {
    const restored = await createTestDatabase();
    try {
      await restored.query('UPDATE angelia.cluster SET system_identifier = system_identifier - 1');
      const findings = await examined({}, { env: { DATABASE_URL: restored.url } });
      expect(finding(findings, 'postgres.cluster')).toMatchObject({
        state: 'fault',
        todo: expect.stringContaining('--raise-epoch'),
      });
    } finally {
      await restored.drop();
    }
  });

  it('with a session that has written and is idle in its transaction is a fault that names the session', async () => {
    const holder = new pg.Client({ connectionString: database.url, application_name: 'forgotten' });
    await holder.connect();
    try {
      const { rows } = await holder.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await holder.query('BEGIN');
      await holder.query('SELECT pg_current_xact_id()');
      const named = `session ${rows[0]?.pid} (forgotten)`;
      // Other tests write to the same server, and one of their transactions may be the oldest for a moment.
      const held = await eventually(async () => {
        const found = finding(await examined({}, { longTransactionMs: 100 }), 'postgres.transactions');
        return found?.state === 'fault' && found.what.includes(named) && found;
      });
      expect(held.what).toContain('idle in transaction');
      expect(held.todo).toContain(`pg_terminate_backend(${rows[0]?.pid})`);
    } finally {
      await holder.end();
    }
  });

  it('whose clock differs by minutes is a fault, by seconds a warning', async () => {
    const skewed = async (ms: number) => finding(await examined({}, { now: () => Date.now() + ms }), 'clock');
    expect(await skewed(0)).toMatchObject({ state: 'ok' });
    expect(await skewed(120_000)).toMatchObject({
      state: 'fault',
      what: expect.stringContaining('s ahead of'),
    });
    expect(await skewed(-10_000)).toMatchObject({
      state: 'warning',
      what: expect.stringContaining('s behind'),
    });
  });

  it('without services has no leader, which is a fault', async () => {
    const findings = await examined({});
    expect(finding(findings, 'duties')).toMatchObject({
      state: 'fault',
      what: expect.stringContaining('relay'),
    });
    expect(finding(findings, 'ingress')).toMatchObject({ state: 'fault' });
  });
});

describe('NATS', () => {
  it('without JetStream is a fault that says how to turn it on', async () => {
    const port = await freePort();
    const server = spawn(
      process.env.ANGELIA_TEST_NATS_SERVER ?? 'nats-server',
      ['-a', '127.0.0.1', '-p', String(port)],
      { stdio: 'ignore' },
    );
    try {
      const url = `nats://127.0.0.1:${port}`;
      const off = await eventually(async () =>
        finding(await examined({}, { env: { NATS_URL: url } }), 'nats.jetstream'),
      );
      expect(off).toMatchObject({ state: 'fault', todo: expect.stringContaining('-js') });
    } finally {
      const ended = once(server, 'exit');
      server.kill('SIGKILL');
      await ended;
    }
  });

  it('that is down is a fault', async () => {
    const findings = await examined({}, { env: { NATS_URL: 'nats://127.0.0.1:1' } });
    expect(finding(findings, 'nats')).toMatchObject({
      state: 'fault',
      todo: expect.stringContaining('nats-server'),
    });
  });
});

it('ingress at another address that does not answer is a fault that does not advise to start it here', async () => {
  const [here, elsewhere] = await Promise.all(
    ['http://127.0.0.1:1', 'http://ingress.invalid'].map(async (ingressUrl) =>
      finding(await examined({}, { ingressUrl }), 'ingress'),
    ),
  );
  expect(here).toMatchObject({ state: 'fault', todo: expect.stringContaining('npm start') });
  expect(elsewhere).toMatchObject({ state: 'fault', todo: expect.stringContaining('kubectl get pods') });
  expect(JSON.stringify(elsewhere)).not.toContain('npm start');
});

it('servers that accept a connection and never answer are faults within the time limit', async () => {
  const taken: Socket[] = [];
  const silent = createServer((socket) => taken.push(socket.on('error', () => {}).resume())).listen(
    0,
    '127.0.0.1',
  );
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  try {
    const findings = await examined(
      { targets: { telegram: { bot_token: TOKEN, api_base: `http://127.0.0.1:${port}` } } },
      {
        timeoutMs: 300,
        env: { DATABASE_URL: `postgres://a@127.0.0.1:${port}/a`, NATS_URL: `nats://127.0.0.1:${port}` },
      },
    );
    for (const check of ['postgres', 'nats', 'target.telegram']) {
      expect(finding(findings, check)).toMatchObject({ state: 'fault' });
    }
    // Doctor has closed its connections: an open one would keep the command from ending.
    await eventually(() => taken.every(({ readyState }) => readyState !== 'open'));
  } finally {
    for (const socket of taken) socket.destroy();
    silent.close();
  }
});

describe('the config', () => {
  it('with a variable that is not set is a fault that names the variable', async () => {
    const findings = await examined({ secret: `$\{DOCTOR_TEST_MISSING}` });
    expect(finding(findings, 'config')).toMatchObject({
      state: 'fault',
      what: expect.stringContaining('DOCTOR_TEST_MISSING is not set'),
      todo: expect.stringContaining('set DOCTOR_TEST_MISSING'),
    });
    expect(finding(findings, 'targets')).toMatchObject({ state: 'skipped' });
  });

  it('with unknown keys has a fault for each', async () => {
    const findings = await examined({ secrett: 'x', limits: { burst: 1 } });
    const faults = findings.filter(({ check, state }) => check === 'config' && state === 'fault');
    expect(faults.map(({ what }) => what)).toEqual([
      expect.stringContaining('limits.burst'),
      expect.stringContaining('secrett'),
    ]);
  });

  it('with an open route, and with secrets that other users can read, gives warnings', async () => {
    const agents = { default: { model: 'echo' } };
    const models = { echo: { provider: 'builtin', model: 'echo' } };
    const open = {
      agents,
      models,
      routes: { open: { secret: 'INSECURE_NO_AUTH' }, shut: { secret: 'a-long-secret' } },
    };
    const path = configFile(open, 0o644);
    const findings = await examined({}, { env: { ANGELIA_CONFIG: path } });
    expect(finding(findings, 'config.auth')).toMatchObject({
      state: 'warning',
      what: expect.stringContaining('route open'),
    });
    expect(finding(findings, 'config.mode')).toMatchObject({
      state: 'warning',
      todo: expect.stringContaining('chmod 600'),
    });
    expect(finding(await examined(open), 'config.mode')).toBeUndefined();
  });

  it('that runs commands without isolation gives a warning', async () => {
    const config = (run_as: string) => ({
      agents: { worker: { model: 'm', toolsets: ['terminal'] } },
      models: { m: { provider: 'builtin', model: 'echo' } },
      process_watcher: { run_as },
    });
    expect(finding(await examined(config('same')), 'config.commands')).toMatchObject({
      state: 'warning',
      what: expect.stringMatching(/worker.*without isolation/),
    });
    expect(finding(await examined(config('auto')), 'config.commands')).toBeUndefined();
  });

  it('gives a fault for an invalid master key', async () => {
    const findings = await examined({}, { env: { ANGELIA_MASTER_KEY: 'c2hvcnQ=' } });
    expect(finding(findings, 'master-key')).toMatchObject({
      state: 'fault',
      todo: expect.stringContaining('openssl rand'),
    });
    expect(finding(await examined({}), 'master-key')).toMatchObject({ state: 'warning' });
  });
});

describe('credentials', () => {
  it('of every platform are checked without sending a message', async () => {
    const telegram = await startTelegram({ token: TOKEN });
    const slack = await startSlack({ token: 'xoxb-good-token' });
    const discord = await startDiscord({ token: 'discord-good-token' });
    const github = await startGithub({ token: 'ghp-good-token' });
    const matrix = await startMatrix({ token: 'matrix-good-token' });
    const mattermost = await startMattermost({ token: 'mattermost-good-token' });
    const smtp = await startSmtp({ user: 'bot', password: 'smtp-good-password', tls: 'none' });
    const standIns = [telegram, slack, discord, github, matrix, mattermost];
    stops.push(...standIns.map(({ stop }) => stop), smtp.stop);
    const targets = (good: boolean) => ({
      telegram: { bot_token: good ? TOKEN : '123456:a-wrong-token', api_base: telegram.url },
      slack: { bot_token: good ? 'xoxb-good-token' : 'wrong-token', api_base: `${slack.url}/api` },
      discord: { bot_token: good ? 'discord-good-token' : 'wrong-token', api_base: `${discord.url}/api/v10` },
      github_comment: { token: good ? 'ghp-good-token' : 'wrong-token', api_base: github.url },
      matrix: { access_token: good ? 'matrix-good-token' : 'wrong-token', api_base: matrix.url },
      mattermost: { token: good ? 'mattermost-good-token' : 'wrong-token', api_base: mattermost.url },
      email: {
        ...{ host: smtp.host, port: smtp.port, security: 'none', from: 'bot@example.com' },
        ...{ user: 'bot', password: good ? 'smtp-good-password' : 'wrong-password' },
      },
    });
    const states = (findings: readonly Finding[]) =>
      Object.fromEntries(
        findings.filter(({ check }) => check.startsWith('target.')).map(({ check, state }) => [check, state]),
      );
    const names = Object.keys(targets(true)).map((name) => `target.${name}`);

    const good = await examined({ targets: targets(true) });
    expect(states(good)).toEqual(Object.fromEntries(names.map((name) => [name, 'ok'])));
    expect(finding(good, 'target.telegram')?.what).toContain('@stand_in_bot');

    const bad = await examined({ targets: targets(false) });
    expect(states(bad)).toEqual(Object.fromEntries(names.map((name) => [name, 'fault'])));
    expect(finding(bad, 'target.telegram')).toMatchObject({
      what: expect.stringContaining('refused'),
      todo: 'set targets.telegram.bot_token to a valid credential',
    });

    expect(standIns.flatMap(({ problems }) => problems)).toEqual([]);
    const sent = [
      telegram.messages,
      slack.messages,
      discord.messages,
      github.comments,
      matrix.events,
      mattermost.posts,
    ];
    expect([...sent, smtp.received].flat()).toEqual([]);
  });

  it('that a platform quotes in its answer are not shown', async () => {
    const telegram = await startTelegram({ token: TOKEN });
    stops.push(telegram.stop);
    telegram.behaveToReads({
      kind: 'answer',
      answer: { status: 401, body: { ok: false, description: `no such bot: ${TOKEN}` } },
    });
    const findings = await examined({ targets: { telegram: { bot_token: TOKEN, api_base: telegram.url } } });
    expect(finding(findings, 'target.telegram')?.what).toContain('no such bot: [redacted]');
    expect(JSON.stringify(findings)).not.toContain(TOKEN);
  });

  it('are not called wrong when the platform is down or unreachable', async () => {
    const telegram = await startTelegram({ token: TOKEN });
    stops.push(telegram.stop);
    const targets = { telegram: { bot_token: TOKEN, api_base: telegram.url } };
    telegram.behaveToReads({ kind: 'answer', answer: { status: 502 } });
    expect(finding(await examined({ targets }), 'target.telegram')).toMatchObject({ state: 'warning' });
    telegram.behaveToReads({ kind: 'hang' });
    expect(finding(await examined({ targets }, { timeoutMs: 500 }), 'target.telegram')).toMatchObject({
      state: 'fault',
      what: expect.stringContaining('cannot be reached'),
    });
  });

  it('of models are checked if the provider lists its models, and skipped if it does not', async () => {
    const models = await startModelServer({ apiKey: 'a-model-key' });
    const slack = await startSlack({ token: 'x' });
    stops.push(models.stop, slack.stop);
    const model = (over: object) => ({
      ...{ provider: 'openai-compatible', base_url: models.baseUrl, model: 'm1', api_key: 'a-model-key' },
      ...over,
    });
    const findings = await examined({
      models: {
        good: model({}),
        claude: model({ provider: 'anthropic' }),
        wrong: model({ api_key: 'another-key' }),
        gone: model({ model: 'm9' }),
        away: model({ base_url: 'http://127.0.0.1:1/v1' }),
        silent: model({ base_url: `${slack.url}/elsewhere` }),
        echo: { provider: 'builtin', model: 'echo' },
      },
    });
    const states = findings.filter(({ check }) => check.startsWith('model.'));
    expect(Object.fromEntries(states.map(({ check, state }) => [check, state]))).toEqual({
      'model.good': 'ok',
      'model.claude': 'ok',
      'model.wrong': 'fault',
      'model.gone': 'warning',
      'model.away': 'fault',
      'model.silent': 'skipped',
      'model.echo': 'ok',
    });
  });

  it('of MCP servers: a missing program and an unreachable address are faults', async () => {
    const findings = await examined({
      mcp_servers: {
        here: { command: 'node' },
        gone: { command: 'no-such-program-anywhere' },
        away: { url: 'http://127.0.0.1:1/mcp' },
      },
    });
    expect(finding(findings, 'mcp.here')).toMatchObject({ state: 'ok' });
    expect(finding(findings, 'mcp.gone')).toMatchObject({ state: 'fault' });
    expect(finding(findings, 'mcp.away')).toMatchObject({ state: 'fault' });
  });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}
