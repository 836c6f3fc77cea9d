import type { AgentConfig, Config, EventData, EventType, RecordedEvent, SessionId } from '@angelia/contracts';
import { decide, type SessionCommand } from '@angelia/session';
import { eventually } from '@angelia/testkit';
import { afterEach, describe, expect, it } from '@jest/globals';
import { drainRuns } from '../../run/drain-runs.ts';
import { type FixtureOptions, runnerFixture } from '../../testing/runner-fixture.ts';

let world: Awaited<ReturnType<typeof runnerFixture>>;

afterEach(() => world.stop());

const given = async (agent: Readonly<Record<string, unknown>> = {}, more: FixtureOptions = {}) => {
  world = await runnerFixture({
    agents: { program: { kind: 'command', command: ['never-run-here'], ...agent } },
    ...more,
  });
};
const dataOf = <T extends EventType>(events: readonly RecordedEvent[], type: T): EventData<T>[] =>
  events.filter((event) => event.type === type).map((event) => event.data as EventData<T>);
const has = (id: SessionId, type: EventType) =>
  eventually(async () => {
    const events = await world.events(id);
    return events.some((event) => event.type === type) && events;
  });
const types = (events: readonly RecordedEvent[]) => events.slice(2).map((event) => event.type);
const happened = async (id: SessionId, command: SessionCommand) => {
  const executed = await world.sessions.execute(id, ({ state }) => decide(state, command));
  expect(executed.status).toBe('appended');
};
/** Reports the result as process-watcher does. */
const reports = (id: SessionId, outcome: 'ok' | 'error' | 'unknown', result: object, turn = 1) =>
  happened(id, {
    type: 'finish-tool',
    generation: null,
    callId: `agent-${turn}`,
    outcome,
    result: JSON.stringify(result),
  });

/** As if the operator had changed the kind of the agent since. */
function withKind(config: Config, kind: AgentConfig['kind']): Config {
  const made = {
    llm: config.agents.default,
    command: config.agents.program,
    http: {
      ...config.agents.default,
      ...config.agents.program,
      kind: 'http',
      url: 'http://127.0.0.1:9/',
      secret: 's',
      headers: {},
    },
  }[kind] as AgentConfig;
  return { ...config, agents: { ...config.agents, program: made } };
}

describe('an agent of kind command', () => {
  it('is started by an event, and what process-watcher reports is the answer', async () => {
    await given();
    const id = await world.create('do it', 'program');
    await world.runner('a').checkSession(id);
    const started = await has(id, 'tool.started');
    expect(dataOf(started, 'tool.started')).toEqual([
      { generation: 1, turn: 1, call_id: 'agent-1', tool: 'agent', arguments: '{}', waits_for: null },
    ]);
    await reports(id, 'ok', { text: 'done' });
    const events = await has(id, 'session.ended');
    expect(types(events)).toEqual([
      'run.started',
      'tool.started',
      'tool.finished',
      'session.final-response',
      'session.ended',
    ]);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'done', outcome: 'succeeded' }]);
    expect((await world.log.leases.read(`run:${id}`)).lease).toBe(null);
  });

  it('gets its result even if no ping announces it', async () => {
    await given();
    const id = await world.create('do it', 'program');
    await world.runner('a', { deaf: true }).checkSession(id);
    await has(id, 'tool.started');
    await reports(id, 'ok', { text: 'done' });
    await has(id, 'session.ended');
  });

  it.each([
    ['error', { error: 'exit code 3' }, 'agent_failed', 'exit code 3'],
    ['unknown', { error: 'the host is gone' }, 'agent_lost', 'the host is gone'],
    ['ok', { output: 'no text' }, 'agent_failed', 'without saying why'],
  ] as const)('that ends %s %j fails the run: %s', async (outcome, result, code, message) => {
    await given();
    const id = await world.create('do it', 'program');
    await world.runner('a').checkSession(id);
    await has(id, 'tool.started');
    await reports(id, outcome, result);
    const events = await has(id, 'session.ended');
    expect(dataOf(events, 'run.failed')).toMatchObject([{ code, message: expect.stringContaining(message) }]);
    const [answer] = dataOf(events, 'session.final-response');
    expect(answer).toMatchObject({ outcome: 'failed', silent: false });
    expect(answer?.text).not.toContain(message);
  });

  it('is started once: the run that follows a drained one waits for the same program', async () => {
    await given({}, { leaseSeconds: 5 });
    const first = world.runner('first');
    const id = await world.create('do it', 'program');
    await first.checkSession(id);
    await has(id, 'tool.started');
    const hurry = new AbortController();
    hurry.abort();
    await drainRuns(first).drain(Date.now() + 30_000, hurry.signal);
    await world.runner('second').checkSession(id);
    await eventually(async () => dataOf(await world.events(id), 'run.started').length === 2);
    await reports(id, 'ok', { text: 'still mine' });
    const events = await has(id, 'session.ended');
    expect(dataOf(events, 'tool.started')).toHaveLength(1);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ generation: 2, text: 'still mine' }]);
  });

  it('whose result came while no runner was there gives it to the turn at once', async () => {
    await given({}, { leaseSeconds: 1 });
    const dead = world.runner('dead');
    const id = await world.create('do it', 'program');
    await dead.checkSession(id);
    await has(id, 'tool.started');
    dead.cut();
    await reports(id, 'ok', { text: 'in between' });
    const other = world.runner('other');
    await eventually(async () => {
      await other.checkSession(id);
      return (await world.types(id)).includes('session.ended');
    });
    const events = await world.events(id);
    expect(dataOf(events, 'tool.started')).toHaveLength(1);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'in between' }]);
  });

  it.each(['llm', 'http'] as const)(
    'that became one of kind %s since: nobody begins the work a second time, and the user is told',
    async (kind) => {
      await given({}, { leaseSeconds: 5 });
      const first = world.runner('first');
      const id = await world.create('do it', 'program');
      await first.checkSession(id);
      await has(id, 'tool.started');
      const hurry = new AbortController();
      hurry.abort();
      await drainRuns(first).drain(Date.now() + 30_000, hurry.signal);
      await world.runner('second', { config: (config) => withKind(config, kind) }).checkSession(id);
      const events = await has(id, 'session.ended');
      expect(dataOf(events, 'run.failed')).toMatchObject([{ generation: 2, code: 'agent_lost' }]);
    },
  );

  it.each(['command', 'http'] as const)(
    'so does a turn that a model began, by what is of kind %s now',
    async (kind) => {
      await given({}, { leaseSeconds: 5 });
      const id = await world.create('do it', 'program');
      const run = { generation: 1, turn: 1, runner: 'r#1', resumed: false, attempt: 1, takeover: false };
      const answer = { step: 1, model: 'main', text: '', finishReason: 'tool-calls' };
      const usage = { input_tokens: 1, output_tokens: 1 };
      const toolCalls = [{ id: 'c', name: 'terminal', arguments: '{}' }];
      await happened(id, { type: 'start-run', ...run });
      await happened(id, { type: 'record-model-response', generation: 1, ...answer, usage, toolCalls });
      await happened(id, { type: 'interrupt-run', generation: 1, reason: 'drain' });
      await world.runner('second', { config: (config) => withKind(config, kind) }).checkSession(id);
      const events = await has(id, 'session.ended');
      expect(dataOf(events, 'run.failed')).toMatchObject([{ generation: 2, code: 'agent_lost' }]);
    },
  );

  it('answers its turns in order', async () => {
    await given();
    const runner = world.runner('a');
    const id = await world.create('first', 'program');
    await runner.checkSession(id);
    await has(id, 'tool.started');
    await happened(id, { type: 'request-turn', source: 'message', input: 'second', deliveryId: 'm2' });
    await runner.checkSession(id);
    await reports(id, 'ok', { text: 'one' });
    await eventually(async () => dataOf(await world.events(id), 'tool.started').length === 2);
    await reports(id, 'ok', { text: 'two' }, 2);
    const events = await has(id, 'session.ended');
    expect(dataOf(events, 'session.final-response').map(({ turn, text }) => [turn, text])).toEqual([
      [1, 'one'],
      [2, 'two'],
    ]);
  });

  it('stops when its session is cancelled', async () => {
    await given();
    const runner = world.runner('a');
    const cancelled = await world.create('do it', 'program');
    await runner.checkSession(cancelled);
    await has(cancelled, 'tool.started');
    await happened(cancelled, { type: 'cancel', by: 'api' });
    runner.cancel(cancelled);
    await runner.idle();
    expect((await world.types(cancelled)).at(-1)).toBe('session.ended');
  });

  it('that process-watcher ended at its time limit fails with what it printed until then', async () => {
    await given({ timeout_seconds: 0.4 });
    const id = await world.create('do it', 'program');
    await world.runner('a').checkSession(id);
    await has(id, 'tool.started');
    await reports(id, 'error', { error: 'took longer\nstderr: waiting for the key', code: 'timeout' });
    const events = await has(id, 'session.ended');
    expect(dataOf(events, 'run.failed')).toMatchObject([
      { code: 'timeout', message: 'took longer\nstderr: waiting for the key' },
    ]);
    expect(dataOf(events, 'session.final-response')[0]?.text).not.toContain('key');
  });

  it('fails when it takes too long and nobody reports', async () => {
    await given({ timeout_seconds: 0.4 }, { leaseSeconds: 1 });
    const late = await world.create('do it', 'program');
    await world.runner('a').checkSession(late);
    const events = await has(late, 'session.ended');
    expect(dataOf(events, 'run.failed')).toMatchObject([{ code: 'timeout' }]);
  });
});
