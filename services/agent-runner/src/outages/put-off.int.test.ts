import type {
  AgentConfig,
  EventData,
  EventType,
  ModelConfig,
  RecordedEvent,
  SessionId,
} from '@angelia/contracts';
import { sessionSummary, transcript } from '@angelia/session';
import {
  callTool,
  eventually,
  fail,
  type ModelServer,
  type ModelStep,
  say,
  startModelServer,
} from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { json, startAgentService } from '../testing/agent-service.ts';
import { type FixtureOptions, runnerFixture } from '../testing/runner-fixture.ts';

// Invariant an-outage-is-a-wait, with the real log and its clock, and a model server that fails over HTTP. There is no
// agenda here: the tests look at a session again and again, as its hints do.

let server: ModelServer;
let world: Awaited<ReturnType<typeof runnerFixture>>;

beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  expect(server.problems).toEqual([]);
  await server.stop();
  await world.stop();
});

/** Short enough for a test. A wait that a test wants to see going on is `LONG`. */
const SOON = { schedule_seconds: [0.2], max_seconds: 600 };
const LONG = { schedule_seconds: [600], max_seconds: 7_200 };

const given = async (
  retry: Readonly<Record<string, unknown>> = SOON,
  { agent, ...options }: Omit<FixtureOptions, 'modelUrl'> = {},
) => {
  world = await runnerFixture({ modelUrl: server.baseUrl, agent: { retry, ...agent }, ...options });
};
const dataOf = <T extends EventType>(events: readonly RecordedEvent[], type: T): EventData<T>[] =>
  events.filter((event) => event.type === type).map((event) => event.data as EventData<T>);
const has =
  (type: EventType, times = 1) =>
  (events: readonly RecordedEvent[]) =>
    dataOf(events, type).length >= times;
type Checks = { checkSession(id: SessionId): Promise<void> };
const checkedUntil = (runner: Checks, id: SessionId, isSo: (events: readonly RecordedEvent[]) => boolean) =>
  eventually(async () => {
    await runner.checkSession(id);
    const events = await world.events(id);
    return isSo(events) && events;
  });
const becomes = (id: SessionId, isSo: (events: readonly RecordedEvent[]) => boolean) =>
  eventually(async () => {
    const events = await world.events(id);
    return isSo(events) && events;
  });
const types = (events: readonly RecordedEvent[]) => events.slice(2).map(({ type }) => type);
const summary = async (id: SessionId) => sessionSummary(id, (await world.sessions.load(id)).state);
const putOffAt = (events: readonly RecordedEvent[]) =>
  events.find(({ type }) => type === 'run.put-off')?.recordedAt ?? 0;

describe('a model that is busy or down', () => {
  it('puts the run off: the session waits, no lease and no slot is held, and it goes on by itself', async () => {
    await given(LONG, { agent: { max_concurrency: 1 } });
    server.behave(({ input }) => (input === 'work' ? fail(503) : say('four')));
    const id = await world.create('work');
    const runner = world.runner('a');
    await runner.checkSession(id);
    const events = await becomes(id, has('run.put-off'));
    expect(types(events)).toEqual(['run.started', 'session.interim-status', 'run.put-off']);
    expect(dataOf(events, 'run.put-off')).toMatchObject([
      {
        generation: 1,
        reason: 'unavailable',
        models: [
          { model: 'main', code: 'unavailable', called: true, message: expect.stringContaining('503') },
        ],
      },
    ]);
    expect(server.requests).toHaveLength(3);
    await runner.idle();
    expect((await world.log.leases.read(`run:${id}`)).lease).toBe(null);
    expect(await summary(id)).toMatchObject({
      status: 'waiting',
      waiting_for: 'model',
      retry_at: dataOf(events, 'run.put-off')[0]?.retry_at,
      failure: { code: 'unavailable', message: 'main: unavailable' },
      outcome: null,
    });
    // Its only slot is free for another session, and a hint changes nothing.
    const other = await world.create('two and two');
    await runner.checkSession(id);
    await runner.checkSession(other);
    await becomes(other, has('session.ended'));
    expect(await world.events(id)).toHaveLength(events.length);
    expect(JSON.stringify(events)).not.toContain('sk-secret-key');
  });

  it('is waited for whatever passing reason it has, and its answer comes once', async () => {
    const steps: Record<string, [ModelStep, string]> = {
      '408': [fail(408), 'unavailable'],
      '409': [fail(409), 'unavailable'],
      '429': [fail(429), 'unavailable'],
      '529': [fail(529), 'unavailable'],
      reset: [{ kind: 'reset' }, 'connect'],
      stall: [{ kind: 'stall' }, 'stall'],
      'cut-off': [{ kind: 'cut-off', text: 'par' }, 'cut_off'],
    };
    await given(SOON, agentsFor(Object.keys(steps), SOON));
    const mended = new Set<string>();
    server.behave(({ body }) => (mended.has(body.model) ? say('four') : (steps[body.model]?.[0] ?? say(''))));
    const runner = world.runner('a');
    const eachOf = async ([name, [, code]]: [string, [ModelStep, string]]) => {
      const id = await world.create('two and two', name);
      const waiting = await checkedUntil(runner, id, has('run.put-off'));
      expect(dataOf(waiting, 'run.put-off')[0]).toMatchObject({
        reason: 'unavailable',
        models: [{ model: name, code, called: true }],
      });
      mended.add(name);
      const events = await checkedUntil(runner, id, has('session.ended'));
      expect(dataOf(events, 'session.final-response')).toMatchObject([
        { text: 'four', outcome: 'succeeded' },
      ]);
      expect(dataOf(events, 'run.started').every(({ attempt, resumed }) => attempt === 1 && !resumed)).toBe(
        true,
      );
      expect(transcript(events).map(({ role, content }) => [role, content])).toEqual([
        ['user', 'two and two'],
        ['assistant', 'four'],
      ]);
    };
    await Promise.all(Object.entries(steps).map(eachOf));
  });

  it('keeps the steps that were done before: a tool is not called again', async () => {
    await given(SOON, { agent: { toolsets: ['clarify'] } });
    server.next(callTool('no_such_tool', {}), fail(503), fail(503), fail(503));
    const id = await world.create('work');
    const runner = world.runner('a');
    await runner.checkSession(id);
    const waiting = await becomes(id, has('run.put-off'));
    expect(types(waiting)).toEqual(['run.started', 'model.responded', 'tool.finished', 'run.put-off']);
    const asked = server.requests.at(-1)?.raw;
    const events = await checkedUntil(runner, id, has('session.ended'));
    expect(dataOf(events, 'tool.finished')).toHaveLength(1);
    // The put-off run left no trace in the prompt.
    expect(server.requests.at(-1)?.raw).toEqual(asked);
  });

  it('is the same wait for another runner, when the first one was stopped or died meanwhile', async () => {
    await given(SOON);
    server.behave(fail(503));
    const id = await world.create('work');
    const first = world.runner('first');
    await checkedUntil(first, id, has('run.put-off', 2));
    // The check may have claimed another run, which would be a lost one.
    first.close();
    await first.idle();
    first.cut();
    server.behave(say('four'));
    const events = await checkedUntil(world.runner('second'), id, has('session.ended'));
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'four' }]);
    expect(dataOf(events, 'run.started').every(({ attempt, resumed }) => attempt === 1 && !resumed)).toBe(
      true,
    );
    expect(dataOf(events, 'run.interrupted')).toEqual([]);
  });

  it('is not waited for when a fallback works', async () => {
    await given(SOON, { models: fallbackModel(), agent: { fallback_models: ['backup'] } });
    server.behave(({ body }) => (body.model === 'm1' ? fail(503) : say('from the backup')));
    const id = await world.create('work');
    await world.runner('a').checkSession(id);
    const events = await becomes(id, has('session.ended'));
    expect(dataOf(events, 'run.put-off')).toEqual([]);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'from the backup' }]);
  });

  it('and its fallback are both named, and the user reads nothing of the providers', async () => {
    await given(LONG, { models: fallbackModel(), agent: { fallback_models: ['backup'] } });
    server.behave(({ body }) => ({
      kind: 'status',
      status: body.model === 'm1' ? 503 : 401,
      body: 'raw provider words',
    }));
    const id = await world.create('work');
    await world.runner('a').checkSession(id);
    const events = await becomes(id, has('run.put-off'));
    expect(dataOf(events, 'run.put-off')).toMatchObject([
      {
        reason: 'unavailable',
        models: [
          { model: 'main', code: 'unavailable', message: expect.stringContaining('raw provider words') },
          { model: 'backup', code: 'unauthorized' },
        ],
      },
    ]);
    const said = dataOf(events, 'session.interim-status').map(({ kind, text }) => [kind, text]);
    expect(said).toEqual([
      ['fallback', 'Primary model failed, switching to fallback: backup'],
      [
        'waiting',
        // With the date if that is tomorrow.
        expect.stringMatching(
          /^The language model is busy; I will try again at (\d{4}-\d\d-\d\d )?\d\d:\d\d UTC\.$/,
        ),
      ],
    ]);
  });
});

describe('Retry-After', () => {
  it.each([
    ['seconds', () => '15'],
    ['an HTTP date', () => new Date(Date.now() + 15_000).toUTCString()],
  ])('in %s is kept to the second, whatever the schedule says', async (_what, header) => {
    await given(LONG);
    server.behave(() => fail(429, header()));
    const id = await world.create('work');
    await world.runner('a').checkSession(id);
    const events = await becomes(id, has('run.put-off'));
    const [data] = dataOf(events, 'run.put-off');
    const waits = Date.parse(data?.retry_at ?? '') - putOffAt(events);
    // An HTTP date has no fractions of a second.
    expect(Math.abs(waits - 15_000)).toBeLessThan(1_500);
    expect(server.requests).toHaveLength(1);
  });

  it('stops other sessions too, which are put off without a call', async () => {
    await given({ schedule_seconds: [0.1], max_seconds: 7_200 });
    server.next(fail(429, '15'));
    const [first, second] = [await world.create('first'), await world.create('second')];
    const runner = world.runner('a');
    await runner.checkSession(first);
    await becomes(first, has('run.put-off'));
    await runner.checkSession(second);
    const events = await becomes(second, has('run.put-off'));
    expect(dataOf(events, 'run.put-off')[0]?.models).toMatchObject([{ model: 'main', called: false }]);
    const waits = Date.parse(dataOf(events, 'run.put-off')[0]?.retry_at ?? '') - putOffAt(events);
    expect(waits).toBeGreaterThan(10_000);
    expect(server.requests).toHaveLength(1);
    await runner.idle();
  });
});

describe('a model that the operator has to mend', () => {
  it('is waited for without further tries, is named, and goes on by itself when mended', async () => {
    const steps: Record<string, [ModelStep, string]> = {
      '401': [fail(401), 'unauthorized'],
      '403': [fail(403), 'unauthorized'],
      '404': [{ kind: 'status', status: 404, code: 'model_not_found' }, 'unknown_model'],
    };
    await given(SOON, agentsFor(Object.keys(steps), SOON));
    const mended = new Set<string>();
    server.behave(({ body }) =>
      mended.has(body.model) ? say('mended') : (steps[body.model]?.[0] ?? say('')),
    );
    const runner = world.runner('a');
    const downOf = (name: string) => runner.modelsDown.filter(({ model }) => model === name);
    const eachOf = async ([name, [, code]]: [string, [ModelStep, string]]) => {
      const id = await world.create('work', name);
      await runner.checkSession(id);
      const waiting = await becomes(id, has('run.put-off'));
      expect(dataOf(waiting, 'run.put-off')).toMatchObject([
        { reason: 'configuration', models: [{ model: name, code, called: true }] },
      ]);
      expect(server.requests.filter(({ body }) => body.model === name)).toHaveLength(1);
      expect(downOf(name)).toMatchObject([{ reason: 'configuration', code }]);
      mended.add(name);
      const events = await checkedUntil(runner, id, has('session.ended'));
      expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'mended' }]);
      expect(downOf(name)).toEqual([]);
    };
    await Promise.all(Object.entries(steps).map(eachOf));
  });

  it('is told apart by what the user reads', async () => {
    await given({ schedule_seconds: [120], max_seconds: 7_200 });
    server.behave({ kind: 'status', status: 401, body: 'raw provider words' });
    const id = await world.create('work');
    await world.runner('a').checkSession(id);
    const events = await becomes(id, has('run.put-off'));
    expect(dataOf(events, 'session.interim-status').map(({ text }) => text)).toEqual([
      expect.stringMatching(
        /^The language model could not be used because of a configuration problem\. The operator can see why\. I will try again at (\d{4}-\d\d-\d\d )?\d\d:\d\d UTC\.$/,
      ),
    ]);
  });
});

describe('what does not wait', () => {
  it.each([400, 422])('a request that every model refuses (%i): it fails at once', async (status) => {
    await given();
    server.behave({ kind: 'status', status, body: 'raw provider words' });
    const id = await world.create('work');
    await world.runner('a').checkSession(id);
    const events = await becomes(id, has('session.ended'));
    expect(types(events)).toEqual(['run.started', 'run.failed', 'session.final-response', 'session.ended']);
    expect(dataOf(events, 'run.failed')).toMatchObject([{ code: 'models_failed' }]);
    expect(dataOf(events, 'session.final-response')).toMatchObject([
      { text: 'Sorry, the language model refused this request, so it was not answered.', outcome: 'failed' },
    ]);
    expect(server.requests).toHaveLength(1);
  });

  it('an agent with max_seconds 0: it fails at once, after its three tries, also when others see an outage', async () => {
    await given(LONG, { agents: { hasty: { model: 'main', retry: { max_seconds: 0 } } } });
    server.behave(fail(401));
    const runner = world.runner('a');
    const patient = await world.create('work');
    await runner.checkSession(patient);
    await becomes(patient, has('run.put-off'));
    server.behave(fail(503));
    const before = server.requests.length;
    const id = await world.create('work', 'hasty');
    await runner.checkSession(id);
    const events = await becomes(id, has('session.ended'));
    expect(dataOf(events, 'run.failed')).toMatchObject([{ code: 'models_failed' }]);
    expect(server.requests).toHaveLength(before + 3);
  });
});

describe('a model that never comes back', () => {
  it.each([
    ['unavailable', fail(503), 'Sorry, the language model could not be reached, so this was not answered.'],
    [
      'configuration',
      fail(403),
      'Sorry, this was not answered: the language model could not be used because of a configuration problem. The operator can see why.',
    ],
  ])('(%s) fails the turn at the limit, and tells once', async (_reason, step, text) => {
    await given({ schedule_seconds: [0.3], max_seconds: 3 });
    server.behave(step);
    const id = await world.create('work');
    const runner = world.runner('a');
    const events = await checkedUntil(runner, id, has('session.ended'));
    expect(dataOf(events, 'run.put-off').length).toBeGreaterThan(0);
    expect(dataOf(events, 'run.failed')).toMatchObject([{ code: 'models_failed' }]);
    expect(dataOf(events, 'session.final-response')).toMatchObject([
      { text, outcome: 'failed', silent: false },
    ]);
    expect(dataOf(events, 'session.interim-status')).toEqual([]);
    const failedAt = events.find(({ type }) => type === 'run.failed')?.recordedAt ?? 0;
    expect(failedAt - putOffAt(events)).toBeGreaterThanOrEqual(3_000);
    for (const { retry_at } of dataOf(events, 'run.put-off')) {
      expect(Date.parse(retry_at)).toBeLessThanOrEqual(putOffAt(events) + 3_000);
    }
    await runner.checkSession(id);
    expect(await world.events(id)).toHaveLength(events.length);
  });
});

describe('a new config while sessions wait for a model', () => {
  const putOff = async (texts: readonly string[]) => {
    const ids = await Promise.all(texts.map((text) => world.create(text)));
    const waiting = new Set<SessionId>();
    const runner = world.runner('a', { waiting: () => ids.filter((id) => waiting.has(id)).toSorted() });
    for (const id of ids) {
      await runner.checkSession(id);
      await becomes(id, has('run.put-off'));
      waiting.add(id);
    }
    return { ids, runner };
  };
  const allAnswered = async (ids: readonly SessionId[]) => {
    for (const id of ids) {
      const events = await becomes(id, has('session.ended'));
      expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'four' }]);
    }
  };

  it('that mends the key lets them go on at once, ten minutes before they would try again', async () => {
    await given(LONG);
    server.behave(({ headers }) =>
      headers.authorization === 'Bearer sk-another-key' ? say('four') : fail(401),
    );
    const { ids, runner } = await putOff(['one', 'two', 'three']);
    await runner.take((config) => ({
      ...config,
      models: { main: { ...config.models.main, api_key: 'sk-another-key' } as ModelConfig },
    }));
    await allAnswered(ids);
    expect(runner.modelsDown).toEqual([]);
  });

  it('that does not mend it keeps them waiting, and calls it no more than once', async () => {
    await given(LONG);
    server.behave(fail(401));
    const { ids, runner } = await putOff(['one', 'two', 'three']);
    const before = server.requests.length;
    await runner.take((config) => ({
      ...config,
      models: { main: { ...config.models.main, api_key: 'sk-also-wrong' } as ModelConfig },
    }));
    await becomes(ids[0] as SessionId, has('run.put-off', 2));
    await runner.idle();
    expect(server.requests.length - before).toBe(1);
    expect(runner.modelsDown).toMatchObject([{ model: 'main', code: 'unauthorized' }]);
    expect(await summary(ids[2] as SessionId)).toMatchObject({ status: 'waiting', waiting_for: 'model' });
  });

  it('that names another model for their agent lets them go on with that one', async () => {
    await given(LONG, { models: fallbackModel() });
    server.behave(({ body }) => (body.model === 'm1' ? fail(503) : say('four')));
    const { ids, runner } = await putOff(['one', 'two']);
    const before = server.requests.length;
    await runner.take((config) => ({
      ...config,
      agents: { default: { ...config.agents.default, model: 'backup' } as AgentConfig },
    }));
    await allAnswered(ids);
    expect(server.requests.slice(before).filter(({ body }) => body.model === 'm1')).toEqual([]);
  });

  it('that changes `retry` counts for the next wait', async () => {
    await given(LONG);
    server.behave(fail(503));
    const { runner } = await putOff(['one']);
    await runner.take((config) => ({
      ...config,
      agents: {
        default: {
          ...config.agents.default,
          retry: { schedule_seconds: [30], max_seconds: 7_200 },
        } as AgentConfig,
      },
    }));
    const id = await world.create('two');
    await runner.checkSession(id);
    const events = await becomes(id, has('run.put-off'));
    const retryAt = Date.parse(dataOf(events, 'run.put-off')[0]?.retry_at ?? '');
    expect(retryAt - putOffAt(events)).toBeLessThan(60_000);
  });
});

describe('many sessions', () => {
  it('do not hammer a model that is down, and go on in order when it is back, each once', async () => {
    const SESSIONS = 60;
    const pauseSeconds = 0.5;
    await given({ schedule_seconds: [pauseSeconds], max_seconds: 7_200 }, { agent: { max_concurrency: 8 } });
    let down = true;
    let most = 0;
    server.behave(({ input }) => {
      if (down) return fail(503);
      most = Math.max(most, server.inFlight());
      return say(input, 20);
    });
    const ids: SessionId[] = [];
    for (let n = 0; n < SESSIONS; n += 1) ids.push(await world.create(`session ${n}`));
    const waiting = new Set<SessionId>();
    const runner = world.runner('a', { waiting: () => ids.filter((id) => waiting.has(id)) });
    const startedAt = performance.now();
    for (const id of ids) await runner.checkSession(id);
    for (const id of ids) {
      await becomes(id, has('run.put-off'));
      waiting.add(id);
    }
    // Those that were under way when it failed, and no more. On a slow machine another one probes after each pause, in vain.
    const pauses = (performance.now() - startedAt) / 1000 / pauseSeconds;
    expect(server.requests.length).toBeLessThan(8 * 3 + 5 + pauses);
    const calledWhileDown = server.requests.length;
    const notCalled = (await Promise.all(ids.map((id) => world.events(id)))).filter(
      (events) => dataOf(events, 'run.put-off')[0]?.models[0]?.called === false,
    );
    expect(notCalled.length).toBeGreaterThan(SESSIONS / 2);

    down = false;
    // The first one that is due is the probe. Nobody looks at the others: the recovery brings them back.
    const probe = ids[0] as SessionId;
    waiting.delete(probe);
    await checkedUntil(runner, probe, has('session.ended'));
    for (const id of ids) {
      const events = await becomes(id, has('session.ended'));
      expect(dataOf(events, 'session.final-response')).toHaveLength(1);
    }
    const answered = server.requests.slice(calledWhileDown).map(({ input }) => input);
    expect(new Set(answered).size).toBe(SESSIONS);
    expect(answered).toHaveLength(SESSIONS);
    // One, then two, then four at a time.
    const groups = [[0], [1], [2, 3], [4, 5, 6, 7]].map((group) => group.map((n) => `session ${n}`));
    let at = 0;
    for (const group of groups) {
      expect(answered.slice(at, at + group.length).toSorted()).toEqual(group.toSorted());
      at += group.length;
    }
    expect(most).toBeLessThanOrEqual(8);
  });
});

describe('an agent of kind http', () => {
  const SECRET = `whsec_${Buffer.from('a secret of the agent').toString('base64')}`;
  let service: Awaited<ReturnType<typeof startAgentService>>;
  beforeEach(async () => {
    service = await startAgentService(SECRET);
  });
  afterEach(() => service.stop());

  const withAgent = (retry: Readonly<Record<string, unknown>>) =>
    given(SOON, { agents: { elsewhere: { kind: 'http', url: service.url, secret: SECRET, retry } } });

  it('that is busy is waited for, and asked again under the same id', async () => {
    await withAgent(SOON);
    service.behave((_asked, response) => json(response, 503, {}));
    const id = await world.create('work', 'elsewhere');
    const runner = world.runner('a');
    const waiting = await checkedUntil(runner, id, has('run.put-off'));
    expect(dataOf(waiting, 'run.put-off')).toMatchObject([
      { reason: 'unavailable', models: [{ model: 'agent:elsewhere', code: 'agent_unreachable' }] },
    ]);
    service.behave((_asked, response) => json(response, 200, { text: 'the answer' }));
    const events = await checkedUntil(runner, id, has('session.ended'));
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'the answer' }]);
    expect(new Set(service.asked.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(service.problems).toEqual([]);
  });

  it('that refuses is not waited for, and one that stays away fails the turn at the limit', async () => {
    await withAgent({ schedule_seconds: [0.2], max_seconds: 0.5 });
    service.behave((_asked, response) => json(response, 403, {}));
    const refused = await world.create('work', 'elsewhere');
    const runner = world.runner('a');
    await runner.checkSession(refused);
    const atOnce = await becomes(refused, has('session.ended'));
    expect(dataOf(atOnce, 'run.failed')).toMatchObject([{ code: 'agent_failed' }]);
    service.behave((_asked, response) => json(response, 503, {}));
    const away = await world.create('work', 'elsewhere');
    const events = await checkedUntil(runner, away, has('session.ended'));
    expect(dataOf(events, 'run.put-off').length).toBeGreaterThan(0);
    expect(dataOf(events, 'run.failed')).toMatchObject([{ code: 'agent_unreachable' }]);
    expect(dataOf(events, 'session.final-response')).toHaveLength(1);
  });
});

/** For each name an agent and a model of that name. */
function agentsFor(names: readonly string[], retry: Readonly<Record<string, unknown>>) {
  const models = names.map((name) => [name, modelAt(name)]);
  return {
    models: Object.fromEntries(models),
    agents: Object.fromEntries(names.map((name) => [name, { model: name, retry }])),
  };
}

function fallbackModel() {
  return { backup: modelAt('m2') };
}

function modelAt(model: string) {
  return {
    provider: 'openai-compatible',
    base_url: server.baseUrl,
    model,
    api_key: 'sk-secret-key',
    // The others must not be given up on a slow machine.
    ...(model === 'stall' ? { stall_seconds: 0.2 } : {}),
  };
}
