// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is a variable of the config
import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runRecorded } from '@angelia/cli/testing';
import {
  callTool,
  eventually,
  type ModelServer,
  type Sink,
  say,
  startModelServer,
  startSink,
  startTelegram,
  startTestStack,
  TEST_SINK_SECRET,
  type TestConfigParts,
  type TestStack,
  testConfig,
  testRoute,
} from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

// The config changes while everything runs, with two replicas of ingress. A wrong file stops nothing that runs and nothing that
// restarts (invariant last-good-config).

const SERVICES = ['ingress', 'ingress-2', 'agent-runner', 'delivery', 'process-watcher'];
const REPLICAS = 'ingress=2';
/** A secret in the environment that the config does not name. */
const ENVIRONMENT = { KEY_OF_SOMETHING_ELSE: 'nobody-needs-this-key' };

const BOT_TOKEN = '123456789:AAtelegram-token_of_35_letters______';

let dataDir: string;
let sink: Sink;
let otherSink: Sink;
let model: ModelServer;
let stack: TestStack;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'angelia-live-'));
  [sink, otherSink, model] = await Promise.all([
    startSink({ secret: TEST_SINK_SECRET }),
    startSink({ secret: TEST_SINK_SECRET }),
    startModelServer(),
  ]);
  writeEnv({ MODEL_KEY: 'key-of-the-start' });
  stack = await startTestStack({ dataDir, config: config(), replicas: REPLICAS, env: ENVIRONMENT });
});
afterAll(async () => {
  await stack?.stop();
  await Promise.all([sink?.stop(), otherSink?.stop(), model?.stop()]);
  rmSync(dataDir, { recursive: true, force: true });
});

// As in production: on a starved machine a run would lose a short lease and be rightly done again.
let leaseSeconds = 20;

/** The key of the model is in `.env`. */
function config(parts: Partial<TestConfigParts> = {}): string {
  return testConfig({
    sinkUrl: sink.url,
    modelUrl: model.baseUrl,
    timing: { lease_seconds: leaseSeconds },
    ...parts,
    models: {
      main: {
        provider: 'openai-compatible',
        base_url: model.baseUrl,
        model: 'm1',
        api_key: '${MODEL_KEY}',
      },
      ...parts.models,
    },
    agent: { toolsets: ['terminal'], ...parts.agent },
  });
}

const configPath = () => join(dataDir, 'angelia.yaml');

let saves = 0;

/** As most editors do: writes a file beside it, then renames it into place. Every save differs from the one before. */
function save(text: string): void {
  saves += 1;
  writeFileSync(`${configPath()}.new`, `${text}\n# ${saves}\n`, { mode: 0o600 });
  renameSync(`${configPath()}.new`, configPath());
}

function writeEnv(variables: Readonly<Record<string, string>>): void {
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(join(dataDir, '.env'), lines.join(''), { mode: 0o600 });
}

interface ConfigState {
  readonly in_force: 'file' | 'last_good';
  readonly problems?: readonly string[];
  readonly restart_needed?: readonly string[];
  readonly taken_at: string;
}

async function stateOf(service: string): Promise<ConfigState> {
  const { said } = await stack.readiness(service);
  return (JSON.parse(said) as { checks: { config: ConfigState } }).checks.config;
}

const inForceEverywhere = (inForce: ConfigState['in_force'], services = SERVICES) =>
  eventually(async () => {
    const states = await Promise.all(services.map(stateOf));
    return states.every((state) => state.in_force === inForce);
  });

/** Every service has taken the file that is saved now. */
async function takenEverywhere(change: () => void, services = SERVICES): Promise<void> {
  const before = await Promise.all(services.map(stateOf));
  change();
  await eventually(async () => {
    const now = await Promise.all(services.map(stateOf));
    return now.every((state, at) => state.in_force === 'file' && state.taken_at !== before[at]?.taken_at);
  });
}

/** process-watcher does not know the key of a model, so nothing changes for it. */
const keyTaken = (key: string) =>
  takenEverywhere(
    () => writeEnv({ MODEL_KEY: key }),
    SERVICES.filter((service) => service !== 'process-watcher'),
  );

const pids = () => SERVICES.map((service) => stack.pid(service));
const logOf = (service: string) => readFileSync(join(dataDir, 'logs', `${service}.log`), 'utf8');

async function answered(text: string, baseUrl = stack.baseUrl, route = 'hook'): Promise<string> {
  const { status, sessionId } = await stack.post({ baseUrl, route, body: { text } });
  expect({ text, status }).toEqual({ text, status: 202 });
  const session = await stack.waitForEnd(sessionId, { settled: true });
  expect({ text, outcome: session.outcome }).toEqual({ text, outcome: 'succeeded' });
  return sessionId;
}

const cli = (...argv: string[]) =>
  runRecorded(argv, {
    cwd: dataDir,
    env: {
      PATH: process.env.PATH ?? '',
      ANGELIA_DATA: dataDir,
      ANGELIA_CONFIG: configPath(),
      ANGELIA_URL: stack.baseUrl,
      ANGELIA_ADMIN_TOKEN: stack.adminToken,
      MODEL_KEY: 'of-the-command-line',
    },
  });

const reload = (baseUrl = stack.baseUrl) =>
  fetch(`${baseUrl}/v1/config/reload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.adminToken}` },
  });

it('a webhook of a route, an agent and a target that only ingress knows yet is answered and delivered', async () => {
  await takenEverywhere(() => save(config()));
  const late = ['agent-runner', 'delivery'];
  const telegram = await startTelegram({ token: BOT_TOKEN });
  try {
    for (const service of late) stack.freeze(service);
    await takenEverywhere(
      () =>
        save(
          config({
            agents: { newcomer: { model: 'main' } },
            targets: { telegram: { bot_token: BOT_TOKEN, api_base: telegram.url } },
            routes: {
              new: testRoute(sink.url, {
                agent: 'newcomer',
                deliver: 'telegram',
                deliver_extra: { chat_id: '7' },
              }),
            },
          }),
        ),
      ['ingress', 'ingress-2'],
    );
    const { status, sessionId } = await stack.post({ route: 'new', body: { text: 'early' } });
    expect(status).toBe(202);
    stack.thawAll();
    const { outcome, deliveries } = await stack.waitForEnd(sessionId, { settled: true });
    expect({ outcome, dead: deliveries.dead }).toEqual({ outcome: 'succeeded', dead: 0 });
    expect(telegram.shownIn('7')).toEqual(['answer to: early']);
  } finally {
    stack.thawAll();
    await takenEverywhere(() => save(config()));
    await telegram.stop();
  }
});

describe('a typo that is saved while everything runs', () => {
  it('stops nothing: every service is killed in turn and goes on with the last good config; mended, it is taken without a restart', async () => {
    await takenEverywhere(() => save(config()));
    await answered('before the typo');
    const typo = config().replace('kind: llm', 'kind: lmm');
    const place = `${typo.split('\n').findIndex((line) => line.includes('kind: lmm')) + 1}:11`;
    save(typo);
    await inForceEverywhere('last_good');
    for (const service of SERVICES.filter((one) => one !== 'ingress-2')) {
      const pid = stack.kill(service);
      await stack.restarted(service, pid);
      await eventually(() => stack.ready(service).catch(() => false), { describe: `${service} is ready` });
      expect(await stateOf(service)).toMatchObject({
        in_force: 'last_good',
        problems: [
          expect.stringMatching(
            new RegExp(
              `^agents\\.default\\.kind: "lmm" is not a kind of agent\\. Use llm, command or http\\. \\(.*angelia\\.yaml:${place}\\)$`,
            ),
          ),
        ],
      });
      for (const baseUrl of stack.baseUrls) await answered(`after the kill of ${service}`, baseUrl);
    }

    // The service that runs commands has dropped what its part of the config does not name, also with a broken file.
    expect(readFileSync(`/proc/${stack.pid('process-watcher')}/environ`, 'utf8')).not.toContain(
      'nobody-needs',
    );
    expect(readFileSync(`/proc/${stack.pid('delivery')}/environ`, 'utf8')).toContain('nobody-needs');

    // Everybody who can be asked says so.
    expect(logOf('delivery')).toContain('the config file is wrong, and the last good config is used');
    for (const service of SERVICES) {
      expect((await stack.scrape(service)).text).toMatch(/^angelia_config_refused 1$/m);
    }
    const answer = await reload();
    expect(answer.status).toBe(422);
    expect(await answer.json()).toMatchObject({
      errors: [
        {
          path: 'agents.default.kind',
          line: Number(place.split(':')[0]),
          column: 11,
          message: '"lmm" is not a kind of agent. Use llm, command or http.',
        },
      ],
    });
    expect(await cli('config', 'reload')).toMatchObject({
      code: 78,
      stdout: expect.stringContaining(`angelia.yaml:${place})`),
    });
    expect((await cli('config', 'check')).code).toBe(78);
    const { stdout: findings } = await cli('doctor', '--json');
    for (const service of SERVICES) expect(findings).toContain(`"service.${service}.config"`);
    // The public port does not tell strangers what is in the file.
    expect(await (await fetch(`${stack.baseUrl}/readyz`)).text()).not.toContain('lmm');

    const before = pids();
    await takenEverywhere(() =>
      save(config({ routes: { added: testRoute(sink.url, { prompt: 'added: {text}' }) } })),
    );
    for (const baseUrl of stack.baseUrls) {
      const id = await answered('mended', baseUrl, 'added');
      expect(sink.answersOf(id)).toEqual(['answer to: added: mended']);
    }
    expect(pids()).toEqual(before);
    for (const service of SERVICES) {
      expect((await stack.scrape(service)).text).toMatch(/^angelia_config_refused 0$/m);
    }
    expect((await cli('config', 'check')).stdout).toContain('is good (2 routes)');
    // Each final response was taken once.
    expect([...sink.finalCounts().values()].filter((count) => count !== 1)).toEqual([]);
  });
});

describe('a changed route', () => {
  it('counts for the next webhook, and never for a session that exists', async () => {
    await takenEverywhere(() =>
      save(config({ routes: { changed: testRoute(sink.url), removed: testRoute(sink.url) } })),
    );
    const gate = Promise.withResolvers<void>();
    model.behave(async ({ input }) => {
      if (input.startsWith('held')) await gate.promise;
      return say(`answer to: ${input}`);
    });
    const held = await Promise.all(
      ['changed', 'removed'].map(
        async (route) => (await stack.post({ route, body: { text: `held ${route}` } })).sessionId,
      ),
    );
    await eventually(() => model.requests.filter(({ input }) => input.startsWith('held')).length === 2);

    await takenEverywhere(() =>
      save(config({ routes: { changed: testRoute(otherSink.url, { prompt: 'now: {text}' }) } })),
    );
    for (const baseUrl of stack.baseUrls) {
      expect((await stack.post({ baseUrl, route: 'removed', body: { text: 'late' } })).status).toBe(404);
      const id = await answered('next', baseUrl, 'changed');
      expect(otherSink.answersOf(id)).toEqual(['answer to: now: next']);
    }
    gate.resolve();
    for (const id of held) await stack.waitForEnd(id, { settled: true });
    expect(held.map((id) => sink.answersOf(id))).toEqual([
      ['answer to: held changed'],
      ['answer to: held removed'],
    ]);
    expect(held.flatMap((id) => otherSink.answersOf(id))).toEqual([]);
    model.behave(({ input }) => say(`answer to: ${input}`));
  });
});

describe('a key of a model', () => {
  const keys = (text: string) =>
    model.requests.filter(({ input }) => input === text).map(({ headers }) => headers.authorization);

  const instructions = (text: string) =>
    model.requests
      .filter(({ input }) => input === text)
      .map(({ body }) => /(old|new) instructions/.exec(JSON.stringify(body.messages[0]))?.[1]);

  it('that changes in .env counts for the next call; otherwise a run that has begun keeps the config that it began with', async () => {
    await keyTaken('key-of-the-first-day');
    await takenEverywhere(() => save(config({ agent: { system: 'old instructions' } })));
    const gate = Promise.withResolvers<void>();
    model.behave(async ({ input, results }) => {
      if (input === 'rotate' && results.length === 0) {
        await gate.promise;
        return callTool('process', { action: 'list' });
      }
      return say(`answer to: ${input}`);
    });
    const { sessionId } = await stack.post({ body: { text: 'rotate' } });
    await eventually(() => keys('rotate').length === 1);
    await keyTaken('key-of-the-second-day');
    await takenEverywhere(() => save(config({ agent: { system: 'new instructions' } })));
    gate.resolve();
    await stack.waitForEnd(sessionId, { settled: true });
    expect(keys('rotate')).toEqual(['Bearer key-of-the-first-day', 'Bearer key-of-the-second-day']);
    expect(instructions('rotate')).toEqual(['old', 'old']);
    await answered('another run');
    expect(keys('another run')).toEqual(['Bearer key-of-the-second-day']);
    expect(instructions('another run')).toEqual(['new']);
    for (const service of SERVICES) expect(logOf(service)).not.toMatch(/key-of-the-(first|second)-day/);
    expect(readFileSync(join(dataDir, 'last-good/agent-runner.yaml'), 'utf8')).toContain('${MODEL_KEY}');
    model.behave(({ input }) => say(`answer to: ${input}`));
  });
});

describe('a model whose key is refused', () => {
  it('is used as soon as the key is mended in .env: the sessions that wait go on, long before they would try again', async () => {
    await takenEverywhere(() =>
      save(config({ agent: { retry: { schedule_seconds: [3_000], max_seconds: 7_200 } } })),
    );
    model.behave(({ input, headers }) =>
      headers.authorization === 'Bearer a-key-with-a-typo'
        ? { kind: 'status', status: 401, body: 'no' }
        : say(`answer to: ${input}`),
    );
    await keyTaken('a-key-with-a-typo');
    const ids = await Promise.all(
      ['one', 'two', 'three'].map(async (text) => (await stack.post({ body: { text } })).sessionId),
    );
    for (const id of ids) {
      await eventually(async () => (await stack.session(id)).waiting_for === 'model');
    }
    const before = pids();
    await keyTaken('a-key-that-works');
    for (const id of ids) {
      expect((await stack.waitForEnd(id, { settled: true })).outcome).toBe('succeeded');
    }
    expect(ids.map((id) => sink.answersOf(id))).toEqual([
      ['answer to: one'],
      ['answer to: two'],
      ['answer to: three'],
    ]);
    expect(pids()).toEqual(before);
    model.behave(({ input }) => say(`answer to: ${input}`));
  });
});

describe('a mounted ConfigMap', () => {
  it('is taken when Kubernetes swaps the link to it', async () => {
    const mount = (name: string, text: string) => {
      mkdirSync(join(dataDir, name));
      writeFileSync(join(dataDir, name, 'angelia.yaml'), text);
      symlinkSync(name, join(dataDir, '..new'));
      renameSync(join(dataDir, '..new'), join(dataDir, '..data'));
    };
    await takenEverywhere(() => {
      mount('..2026_1', config({ routes: { one: testRoute(sink.url) } }));
      symlinkSync('..data/angelia.yaml', `${configPath()}.new`);
      renameSync(`${configPath()}.new`, configPath());
    });
    await takenEverywhere(() => mount('..2026_2', config({ routes: { two: testRoute(sink.url) } })));
    expect((await stack.post({ route: 'one', body: { text: 'late' } })).status).toBe(404);
    await answered('swapped', stack.baseUrl, 'two');
  });
});

describe('SIGHUP', () => {
  it('and `angelia config reload` take a changed file at once', async () => {
    const tookBy = (cause: string, services: readonly string[]) =>
      services.every((service) =>
        new RegExp(`"cause":"${cause}".*"msg":"config taken"`).test(logOf(service)),
      );
    // The look at the file, once a second, may be faster. Then there is another change.
    await eventually(() => {
      save(config());
      for (const service of SERVICES) process.kill(stack.pid(service), 'SIGHUP');
      return tookBy('signal', SERVICES);
    });
    await eventually(async () => {
      save(config());
      const { code, stdout } = await cli('config', 'reload');
      expect(code).toBe(0);
      return stdout.includes(': taken') && tookBy('ping', SERVICES.slice(1));
    });
  });

  it('with an unchanged file does nothing, and says so', async () => {
    await takenEverywhere(() => save(config()));
    const answers = () =>
      SERVICES.map((service) => logOf(service).match(/"cause":"signal".*"msg":"config \w+"/g) ?? []);
    const before = await eventually(async () => {
      const states = await Promise.all(SERVICES.map(stateOf));
      const told = answers().map(({ length }) => length);
      for (const service of SERVICES) process.kill(stack.pid(service), 'SIGHUP');
      await eventually(() => answers().every(({ length }, at) => length > (told[at] ?? 0)));
      // On a busy machine a service may see a change of an earlier test only now. Then the next signal counts.
      return answers().every((told) => told.at(-1)?.includes('config unchanged')) && states;
    });
    expect(await Promise.all(SERVICES.map(stateOf))).toEqual(before);
    expect(await (await reload()).json()).toMatchObject({ status: 'unchanged', restart_needed: [] });
  });
});

describe('a key that cannot change while services run', () => {
  it('is named with the services to restart, and counts after `angelia restart`', async () => {
    leaseSeconds += 1;
    await takenEverywhere(() => save(config()));
    expect((await cli('doctor', '--json')).stdout).toMatch(/old value of timing/);
    const before = pids();
    const restarted = await cli('restart');
    expect(restarted).toMatchObject({ code: 0, stderr: '' });
    expect(
      restarted.stdout
        .trim()
        .split('\n')
        .map((line) => line.split(' ')[0]),
    ).toEqual(SERVICES);
    for (const [at, pid] of pids().entries()) expect(pid).not.toBe(before[at]);
    for (const service of SERVICES) expect(await stateOf(service)).not.toHaveProperty('restart_needed');
    expect(await cli('restart', 'postgres')).toMatchObject({ code: 3 });
    await answered('after the restart');
  });

  it('is named also if it is a variable of .env that the launcher read', async () => {
    const needed = async () =>
      Promise.all(SERVICES.map(async (service) => (await stateOf(service)).restart_needed));
    const key = { MODEL_KEY: 'key-of-the-second-day' };
    await takenEverywhere(() => writeEnv({ ...key, DATABASE_URL: 'postgres://elsewhere.example/angelia' }));
    expect(await needed()).toEqual(SERVICES.map(() => ['DATABASE_URL (.env)']));
    expect(await cli('restart', 'delivery')).toMatchObject({ code: 0 });
    expect(await needed()).toEqual(SERVICES.map(() => ['DATABASE_URL (.env)']));
    expect((await cli('doctor', '--json')).stdout).toMatch(/old value of DATABASE_URL \(\.env\)/);
    await answered('with the old database');
    await takenEverywhere(() => writeEnv(key));
    expect(await needed()).toEqual(SERVICES.map(() => undefined));
  });
});

describe('reloads under load', () => {
  it('lose nothing, double nothing and refuse nothing', async () => {
    const ids: string[] = [];
    let on = true;
    // A few sessions at any time: as many as fit would cost the CPU of hundreds, and prove no more.
    const clients = Array.from({ length: 4 }, async (_, client) => {
      const baseUrl = stack.baseUrls[client % stack.baseUrls.length] ?? '';
      while (on) ids.push(await answered(`load ${ids.length}`, baseUrl));
    });
    const allEnded = Promise.all(clients);
    allEnded.catch(() => {}); // It is awaited below.
    /** Sessions begin and end meanwhile. */
    const underLoad = async (work: () => Promise<unknown>) => {
      const before = ids.length;
      await work();
      await Promise.race([eventually(() => ids.length > before + clients.length), allEnded]);
    };
    try {
      for (let round = 1; round <= 3; round += 1) {
        await underLoad(() =>
          takenEverywhere(() =>
            save(
              config({
                routes: { [`round-${round}`]: testRoute(sink.url) },
                agent: { max_concurrency: 3 + round },
              }),
            ),
          ),
        );
        // A wrong file in between.
        save('routes: [');
        await underLoad(() => inForceEverywhere('last_good'));
      }
    } finally {
      on = false;
    }
    await allEnded;
    await takenEverywhere(() => save(config()));
    const counts = sink.finalCounts();
    expect(ids.filter((id) => counts.get(id) !== 1)).toEqual([]);
  });
});

describe('the command line', () => {
  it('reads .env beside the config', () => {
    const cwd = mkdtempSync(join(tmpdir(), 'angelia-cli-env-'));
    writeFileSync(join(cwd, 'angelia.yaml'), '{}');
    writeFileSync(
      join(cwd, '.env'),
      'ANGELIA_URL=http://127.0.0.1:1\nANGELIA_ADMIN_TOKEN=a-token-of-the-file\n',
    );
    const program = fileURLToPath(new URL('../../dist/angelia.js', import.meta.url));
    const { PATH = '' } = process.env;
    const asked = spawnSync(process.execPath, [program, 'sessions'], {
      cwd,
      env: { PATH },
      encoding: 'utf8',
    });
    expect([asked.status, asked.stderr]).toEqual([
      5,
      expect.stringContaining('http://127.0.0.1:1 does not answer'),
    ]);
    rmSync(cwd, { recursive: true });
  });
});

describe('a whole stack', () => {
  it('that is stopped and started with a wrong file starts with the last good config; without one it fails with the reason', async () => {
    await takenEverywhere(() => save(config()));
    save('routes: [');
    await inForceEverywhere('last_good');
    await stack.stop();
    const said: string[] = [];
    stack = await startTestStack({
      dataDir,
      env: ENVIRONMENT,
      config: null,
      replicas: REPLICAS,
      say: (line) => said.push(line),
    });
    expect(said.join('\n')).toMatch(
      /THE CONFIG FILE IS WRONG, starting with the last good one: .*angelia\.yaml:1:9/,
    );
    await inForceEverywhere('last_good');
    await answered('with the last good config');
    await takenEverywhere(() => save(config()));

    const first = mkdtempSync(join(tmpdir(), 'angelia-first-'));
    await expect(startTestStack({ dataDir: first, config: 'routes: [' })).rejects.toThrow(
      /angelia\.yaml:1:9: a list is opened with \[/,
    );
    rmSync(first, { recursive: true });
  });
});
