import type { EventData, EventType, RecordedEvent, SessionId } from '@angelia/contracts';
import { decide } from '@angelia/session';
import { eventually, fail, type ModelServer, say, startModelServer } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { drainRuns } from './run/drain-runs.ts';
import { type FixtureOptions, runnerFixture } from './testing/runner-fixture.ts';

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

const given = async (options: Omit<FixtureOptions, 'modelUrl'> = {}) => {
  world = await runnerFixture({ modelUrl: server.baseUrl, ...options });
};
const dataOf = <T extends EventType>(events: readonly RecordedEvent[], type: T): EventData<T>[] =>
  events.filter((event) => event.type === type).map((event) => event.data as EventData<T>);
const ended = (id: SessionId) =>
  eventually(async () => {
    const events = await world.events(id);
    return events.some((event) => event.type === 'session.ended') && events;
  });
const hung = (text: string) => say(text, 60_000);

const WHOLE = [
  'session.created',
  'turn.requested',
  'run.started',
  'model.responded',
  'session.final-response',
  'session.ended',
];

describe('a run', () => {
  it('asks the model once, records the answer and ends the session, and gives its lease back', async () => {
    await given();
    server.next({ kind: 'answer', text: 'four', usage: { input: 9, output: 1 } });
    const id = await world.create('two and two');
    await world.runner('a').checkSession(id);
    const events = await ended(id);
    expect(events.map((event) => event.type)).toEqual(WHOLE);
    expect(dataOf(events, 'model.responded')).toMatchObject([
      {
        duration_ms: expect.any(Number),
        model: 'main',
        text: 'four',
        step: 1,
        usage: { input_tokens: 9, output_tokens: 1 },
        finish_reason: 'stop',
      },
    ]);
    expect(dataOf(events, 'session.final-response')).toMatchObject([
      { text: 'four', outcome: 'succeeded', silent: false, generation: 1 },
    ]);
    expect((await world.log.leases.read(`run:${id}`)).lease).toBe(null);
    expect(server.requests).toHaveLength(1);
    expect(JSON.stringify(events)).not.toContain('sk-secret-key');
  });

  it('is started once, however many hints reach however many runners', async () => {
    await given();
    const id = await world.create('once');
    const runners = [world.runner('a'), world.runner('b')];
    await Promise.all(Array.from({ length: 20 }, (_, n) => runners[n % 2]?.checkSession(id)));
    await ended(id);
    await Promise.all(runners.map((runner) => runner.idle()));
    await Promise.all(runners.map((runner) => runner.checkSession(id)));
    expect(await world.types(id)).toEqual(WHOLE);
    expect(server.requests).toHaveLength(1);
  });

  it('answers a further turn that came meanwhile, in order', async () => {
    await given();
    server.next(say('first answer', 300));
    const id = await world.create('first');
    const runner = world.runner('a');
    await runner.checkSession(id);
    await world.sessions.execute(id, ({ state }) =>
      decide(state, { type: 'request-turn', source: 'message', input: 'second', deliveryId: 'm2' }),
    );
    await runner.checkSession(id);
    const events = await ended(id);
    expect(dataOf(events, 'session.final-response').map((data) => data.text)).toEqual([
      'first answer',
      'answer to: second',
    ]);
    expect(server.requests[1]?.body.messages.map((message) => message.role)).toEqual([
      'system',
      'user',
      'assistant',
      'user',
    ]);
  });

  it('is bounded by max_concurrency: the others wait and are all answered', async () => {
    await given({ agent: { max_concurrency: 2 } });
    // The first two calls wait for each other, however slow the machine is.
    const both = Promise.withResolvers<void>();
    server.behave(async (request) => {
      if (server.requests.length === 2) both.resolve();
      await both.promise;
      return say(request.input, 60);
    });
    const ids = await Promise.all(Array.from({ length: 12 }, (_, n) => world.create(`session ${n}`)));
    const left = () => ids.filter((_, n) => !server.requests.some(({ input }) => input === `session ${n}`));
    // A list of three: most sessions are left to the queue view, and read from there when a slot comes free.
    const runner = world.runner('a', { waitingCap: 3, queued: left });
    await Promise.all(ids.map((id) => runner.checkSession(id)));
    await Promise.all(ids.map(ended));
    expect(server.mostInFlight()).toBe(2);
    expect(server.requests).toHaveLength(12);
  });
});

describe('a runner that dies', () => {
  it('is followed by another only when its lease has expired; when it wakes up, it appends nothing', async () => {
    await given({ leaseSeconds: 1 });
    server.next(say('from the dead', 1_500));
    const id = await world.create('work');
    const dead = world.runner('dead');
    const other = world.runner('other');
    await dead.checkSession(id);
    await eventually(() => server.requests.length === 1);
    dead.cut();
    await other.checkSession(id);
    expect(dataOf(await world.events(id), 'run.started')).toHaveLength(1);

    const events = await eventually(async () => {
      await other.checkSession(id);
      const now = await world.events(id);
      return now.some((event) => event.type === 'session.ended') && now;
    });
    expect(dataOf(events, 'run.started')).toMatchObject([
      { generation: 1, resumed: false, attempt: 1 },
      { generation: 2, resumed: true, attempt: 2 },
    ]);
    expect(dataOf(events, 'session.final-response')).toMatchObject([
      { generation: 2, text: 'answer to: work' },
    ]);
    const takenOverAfter = (events[3]?.recordedAt ?? 0) - (events[2]?.recordedAt ?? 0);
    expect(takenOverAfter).toBeGreaterThanOrEqual(1_000);

    dead.mend();
    await dead.idle();
    expect(await world.events(id)).toHaveLength(events.length);
    // It takes on new work.
    const next = await world.create('next');
    await dead.checkSession(next);
    await ended(next);
  });

  it('tells the model once that the work was interrupted, outside of the conversation', async () => {
    await given({ leaseSeconds: 1 });
    server.next(hung('never'));
    const id = await world.create('work');
    const dead = world.runner('dead');
    await dead.checkSession(id);
    await eventually(() => server.requests.length === 1);
    dead.cut();
    const other = world.runner('other');
    await eventually(async () => {
      await other.checkSession(id);
      return server.requests.length === 2;
    });
    const messages = server.requests[1]?.body.messages ?? [];
    expect(messages.map((message) => message.role)).toEqual(['system', 'user']);
    expect(String(messages[0]?.content).match(/interrupted/g)).toHaveLength(1);
    await ended(id);
  });
});

describe('a runner that is only slow', () => {
  it('is not taken over during a call that is longer than several leases', async () => {
    await given({ leaseSeconds: 2 });
    server.next(say('slow answer', 7_000));
    const id = await world.create('slow');
    const slow = world.runner('slow');
    const other = world.runner('other');
    await slow.checkSession(id);
    const events = await eventually(
      async () => {
        await other.checkSession(id);
        const now = await world.events(id);
        return now.some((event) => event.type === 'session.ended') && now;
      },
      { everyMs: 100 },
    );
    expect(events.map((event) => event.type)).toEqual(WHOLE);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ generation: 1, text: 'slow answer' }]);
    expect(server.requests).toHaveLength(1);
  });
});

describe('a runner that cannot renew its lease', () => {
  it('aborts the model call before the lease expires, and records that the run was not at fault', async () => {
    await given({ leaseSeconds: 1 });
    server.next(hung('never'));
    const id = await world.create('work');
    const runner = world.runner('a');
    await runner.checkSession(id);
    await eventually(() => server.requests.length === 1);
    runner.cut();
    // While it is cut off, nobody can have told it. leases.unit.test.ts checks that this is before the lease expires.
    await eventually(() => server.requests[0]?.aborted);
    runner.mend();
    const events = await eventually(async () => {
      const now = await world.events(id);
      return now.some((event) => event.type === 'run.interrupted') && now;
    });
    expect(dataOf(events, 'run.interrupted')).toMatchObject([{ generation: 1, reason: 'infrastructure' }]);
    // After its last renewal nobody knows that it was still at work (no-phantom-turns).
    expect(dataOf(events, 'run.interrupted')[0]?.silent_seconds).toBeGreaterThan(0.5);
  });
});

describe('a drain', () => {
  it('lets runs finish that do so in time, and interrupts exactly those that are left', async () => {
    await given({ leaseSeconds: 5 });
    server.behave((request) => (request.input === 'hangs' ? hung('never') : say('in time', 300)));
    const [quick, left] = [await world.create('quick'), await world.create('hangs')];
    const runner = world.runner('a');
    await Promise.all([runner.checkSession(quick), runner.checkSession(left)]);
    await eventually(() => server.requests.length === 2);
    await drainRuns(runner).drain(Date.now() + 1_500, new AbortController().signal);

    expect(await world.types(quick)).toEqual(WHOLE);
    expect(await world.types(left)).toEqual([
      'session.created',
      'turn.requested',
      'run.started',
      'run.interrupted',
    ]);
    expect((await world.log.leases.read(`run:${left}`)).lease).toBe(null);

    // It takes on no more work, and another runner continues at once.
    await expect(runner.checkSession(left)).rejects.toMatchObject({ code: 'draining', retryable: true });
    server.behave(say('resumed answer'));
    await world.runner('b').checkSession(left);
    const events = await ended(left);
    expect(
      dataOf(events, 'run.started').map((data) => [data.generation, data.resumed, data.attempt]),
    ).toEqual([
      [1, false, 1],
      [2, true, 1],
    ]);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'resumed answer' }]);
  });

  it('interrupts at once when told to hurry', async () => {
    await given({ leaseSeconds: 5 });
    server.behave(hung('never'));
    const id = await world.create('hangs');
    const runner = world.runner('a');
    await runner.checkSession(id);
    await eventually(() => server.requests.length === 1);
    const hurry = new AbortController();
    hurry.abort();
    await drainRuns(runner).drain(Date.now() + 30_000, hurry.signal);
    expect(await world.types(id)).toContain('run.interrupted');
  });
});

describe('models that fail', () => {
  const backup = () => ({
    backup: {
      provider: 'openai-compatible',
      base_url: server.baseUrl,
      model: 'm2',
      api_key: 'sk-secret-key',
    },
  });

  it('are replaced by the fallback, after the user is told', async () => {
    await given({ agent: { fallback_models: ['backup'] }, models: backup() });
    server.behave((request) => (request.body.model === 'm1' ? fail(503) : say('from the backup')));
    const id = await world.create('work');
    await world.runner('a').checkSession(id);
    const events = await ended(id);
    expect(events.map((event) => event.type)).toEqual([
      ...WHOLE.slice(0, 3),
      'session.interim-status',
      ...WHOLE.slice(3),
    ]);
    expect(dataOf(events, 'session.interim-status')).toMatchObject([
      { kind: 'fallback', text: 'Primary model failed, switching to fallback: backup' },
    ]);
    expect(dataOf(events, 'model.responded')).toMatchObject([{ model: 'backup', text: 'from the backup' }]);
    expect(server.requests.filter((request) => request.body.model === 'm1')).toHaveLength(3);
  });

  it('are reported to the user once, even if the run is resumed and they fail again', async () => {
    await given({ agent: { fallback_models: ['backup'] }, models: backup(), leaseSeconds: 5 });
    server.behave((request) => (request.body.model === 'm1' ? fail(400) : hung('never')));
    const id = await world.create('work');
    const runner = world.runner('a');
    await runner.checkSession(id);
    await eventually(() => server.requests.some(({ body }) => body.model === 'm2'));
    const hurry = new AbortController();
    hurry.abort();
    await drainRuns(runner).drain(Date.now() + 30_000, hurry.signal);
    server.behave((request) => (request.body.model === 'm1' ? fail(400) : say('from the backup')));
    await world.runner('b').checkSession(id);
    const events = await ended(id);
    expect(dataOf(events, 'run.started')).toHaveLength(2);
    expect(dataOf(events, 'session.interim-status')).toHaveLength(1);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'from the backup' }]);
  });

  it('one after the other fail the session with one sentence, without the raw error', async () => {
    await given();
    server.behave({ kind: 'status', status: 400, body: 'raw provider error' });
    const id = await world.create('work');
    await world.runner('a').checkSession(id);
    const events = await ended(id);
    expect(events.map((event) => event.type)).toEqual([
      ...WHOLE.slice(0, 3),
      'run.failed',
      'session.final-response',
      'session.ended',
    ]);
    const [failed] = dataOf(events, 'run.failed');
    expect(failed).toMatchObject({ code: 'models_failed' });
    expect(failed?.message).toContain('raw provider error');
    const [answer] = dataOf(events, 'session.final-response');
    expect(answer).toMatchObject({ outcome: 'failed', silent: false });
    expect(answer?.text).not.toContain('raw provider error');
    expect(dataOf(events, 'session.ended')).toMatchObject([{ outcome: 'failed' }]);
  });
});

describe('a run that cannot be carried out', () => {
  it('fails when it takes longer than the timeout of its agent', async () => {
    await given({ agent: { timeout_seconds: 0.4 } });
    server.behave(hung('never'));
    const id = await world.create('work');
    await world.runner('a').checkSession(id);
    const events = await ended(id);
    expect(dataOf(events, 'run.failed')).toMatchObject([{ code: 'timeout' }]);
    await eventually(() => server.requests[0]?.aborted);
  });

  it('fails for that reason when its agent is gone from the config', async () => {
    await given();
    const id = await world.create('work');
    await world.runner('a', { agentGone: true }).checkSession(id);
    expect(dataOf(await ended(id), 'run.failed')).toMatchObject([{ code: 'agent_missing' }]);
    const inherited = await world.create('work', 'constructor');
    await world.runner('a').checkSession(inherited);
    expect(dataOf(await ended(inherited), 'run.failed')).toMatchObject([{ code: 'agent_missing' }]);
    expect(server.requests).toHaveLength(0);
  });

  it('looks at the config file before it fails for what it lacks: ingress may have seen a change first', async () => {
    await given();
    const { agents } = world.config;
    const id = await world.create('work');
    await world
      .runner('a', { agentGone: true, newFile: (config) => ({ ...config, agents }) })
      .checkSession(id);
    expect(dataOf(await ended(id), 'session.final-response')).toMatchObject([{ outcome: 'succeeded' }]);
  });

  it('keeps an answer that Postgres cannot store unchanged', async () => {
    await given();
    server.next(say('zero \u0000 and half a pair \ud83d.'));
    const id = await world.create('work');
    await world.runner('a').checkSession(id);
    expect(dataOf(await ended(id), 'session.final-response')).toMatchObject([
      { text: 'zero \ufffd and half a pair \ufffd.', outcome: 'succeeded' },
    ]);
  });
});

describe('a cancel', () => {
  it('stops the model call at once when the event is there', async () => {
    await given();
    server.behave(hung('never'));
    const id = await world.create('work');
    const runner = world.runner('a');
    await runner.checkSession(id);
    await eventually(() => server.requests.length === 1);
    await world.sessions.execute(id, ({ state }) => decide(state, { type: 'cancel', by: 'api' }));
    runner.cancel(id);
    await runner.idle();
    await eventually(() => server.requests[0]?.aborted);
    const types = await world.types(id);
    expect(types.slice(3)).toEqual(['run.cancelled', 'session.ended']);
  });

  it('without an event in the log changes nothing', async () => {
    await given();
    server.next(say('the answer', 700));
    const id = await world.create('work');
    const runner = world.runner('a');
    await runner.checkSession(id);
    await eventually(() => server.requests.length === 1);
    runner.cancel(id);
    expect((await ended(id)).map((event) => event.type)).toEqual(WHOLE);
    expect(server.requests).toHaveLength(1);
  });

  it('stops the run even if only the log says so', async () => {
    await given();
    server.behave(hung('never'));
    const id = await world.create('work');
    const runner = world.runner('a', { deaf: true });
    await runner.checkSession(id);
    await eventually(() => server.requests.length === 1);
    await world.sessions.execute(id, ({ state }) => decide(state, { type: 'cancel', by: 'api' }));
    await eventually(() => server.requests[0]?.aborted);
    await runner.idle();
  });
});
