import {
  eventually,
  fail,
  type ModelServer,
  type Sink,
  say,
  startModelServer,
  startSink,
  startTestStack,
  TEST_SINK_SECRET,
  type TestStack,
  testConfig,
  testRoute,
} from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { sideBySide, type Then } from '../side-by-side.ts';
import { commandLine } from './command-line.ts';

// Invariant an-outage-is-a-wait on the whole system: sessions wait for their models while runners, and then everything, are
// killed (-9). Each scenario has an agent, a model and a route of the same name. The name of the model is in each request.

const TEST_MS = 400_000;
/** Of the last outage: all of them wait while everything is killed. */
const CROWD = 300;
const CROWD_AT_ONCE = 16;
const PROGRAMS = ['ingress', 'agent-runner', 'delivery', 'process-watcher', 'nats', 'postgres'];

type Moment = 'the runner was killed' | 'everything was killed';

/** By scenario. A wait of more than 10 s is not spent in the runner. */
const RETRY_AFTER = { limited: 12, killed: 25, restarted: 40 } as const;
const SHORT = { schedule_seconds: [1, 2, 5], max_seconds: 3_600 };
const retries: Record<string, object> = {
  limited: {},
  killed: {},
  restarted: {},
  crowd: { retry: SHORT, max_concurrency: CROWD_AT_ONCE },
  gone: { retry: { schedule_seconds: [1], max_seconds: 5 } },
  misconfigured: { retry: SHORT },
};

let sink: Sink;
let model: ModelServer;
let stack: TestStack;
const together = sideBySide<Moment>(TEST_MS);
/** What a model does now. Default: it answers. */
const behaviours = new Map<string, () => ReturnType<typeof fail>>();
const asked = (name: string) => model.requests.filter(({ body }) => body.model === name);

const { angelia } = commandLine(() => ({
  cwd: stack.dataDir,
  env: { ANGELIA_URL: stack.baseUrl, ANGELIA_ADMIN_TOKEN: stack.adminToken, ANGELIA_DATA: stack.dataDir },
}));

beforeAll(async () => {
  [sink, model] = await Promise.all([startSink({ secret: TEST_SINK_SECRET }), startModelServer()]);
  for (const [name, seconds] of Object.entries(RETRY_AFTER)) {
    behaviours.set(name, () => fail(429, String(seconds)));
  }
  for (const name of ['crowd', 'gone']) behaviours.set(name, () => fail(503));
  behaviours.set('misconfigured', () => ({ kind: 'status', status: 401, body: 'raw provider words' }));
  model.behave(({ body, input }) => {
    const step = behaviours.get(body.model)?.();
    if (body.model in RETRY_AFTER) behaviours.delete(body.model);
    return step ?? say(`answer to: ${input}`, 50);
  });
  const names = Object.keys(retries);
  const modelOf = (name: string) => ({
    provider: 'openai-compatible',
    base_url: model.baseUrl,
    model: name,
    api_key: 'test-key',
  });
  stack = await startTestStack({
    config: testConfig({
      sinkUrl: sink.url,
      models: Object.fromEntries(names.map((name) => [name, modelOf(name)])),
      agents: Object.fromEntries(names.map((name) => [name, { kind: 'llm', model: name, ...retries[name] }])),
      routes: Object.fromEntries(names.map((name) => [name, testRoute(sink.url, { agent: name })])),
      timing: { lease_seconds: 10, sweep_seconds: 2 },
    }),
  });
  together.begin(story);
});

afterAll(async () => {
  await together.over();
  await stack?.stop();
  expect(model?.problems).toEqual([]);
  expect(sink?.received.every(({ signature }) => signature === 'valid')).toBe(true);
  await Promise.all([sink?.stop(), model?.stop()]);
});

async function story(then: Then<Moment>): Promise<void> {
  await then('the runner was killed', async () => {
    await stack.restarted('agent-runner', stack.kill('agent-runner'));
  });
  await then('everything was killed', async () => {
    const killed = PROGRAMS.map((name) => [name, stack.kill(name)] as const);
    await Promise.all(killed.map(([name, pid]) => stack.restarted(name, pid)));
  });
}

async function post(route: string, text = route): Promise<string> {
  const posted = await stack.post({ route, body: { text } });
  expect(posted.status).toBe(202);
  return posted.sessionId;
}

const waitsForModel = (id: string) =>
  eventually(async () => {
    const session = await stack.session(id);
    return session.status === 'waiting' && session.waiting_for === 'model' && session;
  });

/** The model answers 429 with a Retry-After, then 200. */
async function limited(name: keyof typeof RETRY_AFTER, meanwhile: () => Promise<void>): Promise<void> {
  const id = await post(name);
  const waiting = await waitsForModel(id);
  expect(waiting).toMatchObject({ failure: { code: 'unavailable', message: `${name}: unavailable` } });
  await meanwhile();
  await stack.waitForEnd(id, { settled: true });
  const events = await stack.events(id);
  const putOff = events.filter(({ type }) => type === 'run.put-off');
  expect(putOff).toHaveLength(1);
  const waits = Date.parse(String(putOff[0]?.data.retry_at)) - Date.parse(putOff[0]?.recorded_at ?? '');
  expect(Math.abs(waits - RETRY_AFTER[name] * 1_000)).toBeLessThan(1_000);
  const [first, second, ...more] = asked(name);
  expect(more).toEqual([]);
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(RETRY_AFTER[name] * 1_000);
  const runs = events.filter(({ type }) => type === 'run.started').map(({ data }) => data);
  expect(runs).toMatchObject([
    { attempt: 1, resumed: false },
    { attempt: 1, resumed: false },
  ]);
  expect(sink.answersOf(id)).toEqual([`answer to: ${name}`]);
}

describe('a model that is busy or down', () => {
  together.it('429 with Retry-After, then 200: one answer, delivered once, after that time', () =>
    limited('limited', async () => {}),
  );

  together.it('the same when the runner is killed (-9) meanwhile', (until) =>
    limited('killed', () => until('the runner was killed')),
  );

  together.it('the same when everything is killed (-9) meanwhile', (until) =>
    limited('restarted', () => until('everything was killed')),
  );

  together.it('300 sessions wait and are all answered, each once, and in order', async (until) => {
    const startedAt = performance.now();
    const ids: string[] = [];
    while (ids.length < CROWD) {
      const batch = Array.from({ length: 20 }, (_, n) => post('crowd', `crowd ${ids.length + n}`));
      ids.push(...(await Promise.all(batch)));
    }
    const inOrder = ids.toSorted();
    await Promise.all(ids.map(waitsForModel));
    await until('the runner was killed');
    await until('everything was killed');
    await eventually(() => stack.ready('agent-runner'));
    const down = asked('crowd').length;
    // Those that were under way when it failed, one probe per process after that, and at most one per second.
    expect(down).toBeLessThan(3 * CROWD_AT_ONCE + 10 + (performance.now() - startedAt) / 1_000);
    behaviours.delete('crowd');
    for (const id of ids) await stack.waitForEnd(id, { settled: true });
    for (const [n, id] of ids.entries()) expect(sink.answersOf(id)).toEqual([`answer to: crowd ${n}`]);
    const answered = asked('crowd')
      .slice(down)
      .map(({ input }) => inOrder.indexOf(ids[Number(input.split(' ')[1])] ?? ''));
    expect(answered).toHaveLength(CROWD);
    // The first one is the probe, whoever it was. The others start in order, and as many as have a slot are under way at once.
    const inTurn = answered.slice(1).filter((place, n) => Math.abs(place - n) <= 2 * CROWD_AT_ONCE);
    expect(inTurn.length).toBeGreaterThan(0.9 * CROWD);
  });

  together.it('that never comes back: the session fails at the limit, told once', async () => {
    const id = await post('gone');
    const ended = await stack.waitForEnd(id, { settled: true });
    expect(ended).toMatchObject({ outcome: 'failed', failure: { code: 'models_failed' } });
    expect(sink.taken(id).map(({ payload }) => [payload.type, payload.text])).toEqual([
      ['final-response', 'Sorry, the language model could not be reached, so this was not answered.'],
    ]);
  });

  together.it(
    'that refuses our key is shown by name, and its session goes on when it is mended',
    async () => {
      const id = await post('misconfigured');
      await waitsForModel(id);
      const { ready, said } = await stack.readiness('agent-runner');
      expect(ready).toBe(true);
      expect(JSON.parse(said).checks.models).toMatchObject({
        ok: true,
        down: expect.arrayContaining([
          expect.objectContaining({ model: 'misconfigured', reason: 'configuration', code: 'unauthorized' }),
        ]),
      });
      expect((await stack.scrape('agent-runner')).text).toContain(
        'angelia_model_down{model="misconfigured",reason="configuration"} 1',
      );
      const doctor = JSON.parse((await angelia(['doctor', '--json'])).stdout) as {
        findings: { check: string; state: string; what: string }[];
      };
      expect(
        doctor.findings.find(({ check }) => check === 'service.agent-runner.model.misconfigured'),
      ).toMatchObject({ state: 'fault', what: expect.stringContaining('HTTP 401') });
      // Each of its tries is short, and ends in the same wait.
      const shown = (argv: string[], ...wanted: RegExp[]) =>
        eventually(async () => {
          const { stdout } = await angelia(argv);
          return wanted.every((pattern) => pattern.test(stdout));
        });
      await shown(
        ['status', id],
        /status +waiting for a model\n/,
        /reason +configuration: .*misconfigured.*HTTP 401/,
        /tries again +20/,
      );
      await shown(['sessions', '--route', 'misconfigured'], /waiting \(model\)/);
      await shown(['status', id, '--json'], /"waiting_for": "model"/, /"retry_at": "20/);
      behaviours.delete('misconfigured');
      await stack.waitForEnd(id, { settled: true });
      expect(sink.answersOf(id)).toEqual(['answer to: misconfigured']);
    },
  );
});
