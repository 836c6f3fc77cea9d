import type { EventData, EventType, RecordedEvent, SessionId } from '@angelia/contracts';
import { continuation, decideAll, type SessionCommand, transcript } from '@angelia/session';
import { callTool, eventually, type ModelServer, say, startModelServer } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type FixtureOptions, runnerFixture } from './testing/runner-fixture.ts';
import type { CallContext, RunnerTool } from './tools/tool.ts';

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

/** A tool that works until the test releases it. */
function slowTool() {
  const calls: CallContext[] = [];
  let release: () => void = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const tool: RunnerTool = {
    name: 'slow',
    by: 'runner',
    parallel: true,
    description: 'takes its time',
    parameters: { type: 'object' },
    check: () => null,
    run: async (_args, call) => {
      calls.push(call);
      await new Promise<void>((resolve, reject) => {
        void released.then(resolve);
        call.signal.addEventListener('abort', () => reject(call.signal.reason), { once: true });
      });
      return { outcome: 'ok', result: 'slowly done' };
    },
  };
  return { tool, calls, release: () => release() };
}

const given = async (options: Omit<FixtureOptions, 'modelUrl'> = {}) => {
  const slow = slowTool();
  world = await runnerFixture({
    modelUrl: server.baseUrl,
    leaseSeconds: 5,
    ...options,
    agent: { toolsets: ['test'], ...options.agent },
    toolsets: { test: [slow.tool] },
  });
  return slow;
};
const dataOf = <T extends EventType>(events: readonly RecordedEvent[], type: T): EventData<T>[] =>
  events.filter((event) => event.type === type).map((event) => event.data as EventData<T>);
const ended = (id: SessionId) =>
  eventually(async () => {
    const events = await world.events(id);
    return events.some((event) => event.type === 'session.ended') && events;
  });
const happened = async (id: SessionId, ...commands: SessionCommand[]) => {
  const executed = await world.sessions.execute(id, ({ state }) => decideAll(state, commands));
  expect(executed.status).toBe('appended');
};
const message = (input: string, more: object = {}): SessionCommand => ({
  type: 'request-turn',
  source: 'message',
  input,
  deliveryId: input,
  ...more,
});
const rolesOf = (n: number) => server.requests[n]?.body.messages.slice(1).map(({ role }) => role);
const answersOf = (events: readonly RecordedEvent[]) =>
  dataOf(events, 'session.final-response').map(({ turn, text, silent }) => [turn, text, silent]);

describe('turns of a session', () => {
  it('that come while a tool is running wait, and are answered in order, one run at a time', async () => {
    const slow = await given();
    server.next(callTool('slow', {}), say('first done'));
    const runner = world.runner('a');
    const other = world.runner('b');
    const id = await world.create('first');
    await runner.checkSession(id);
    await eventually(() => slow.calls.length === 1);
    for (const input of ['second', 'third']) {
      await happened(id, message(input));
      await Promise.all([runner.checkSession(id), other.checkSession(id)]);
    }
    expect(dataOf(await world.events(id), 'run.started')).toHaveLength(1);
    slow.release();
    const events = await eventually(async () => {
      // As hints do.
      await Promise.all([runner.checkSession(id), other.checkSession(id)]);
      const now = await world.events(id);
      return now.some((event) => event.type === 'session.ended') && now;
    });
    expect(answersOf(events)).toEqual([
      [1, 'first done', false],
      [2, 'answer to: second', false],
      [3, 'answer to: third', false],
    ]);
    const lives = events.flatMap(({ type }) =>
      type === 'run.started' || type === 'session.final-response' ? [type] : [],
    );
    expect(lives).toEqual(Array(3).fill(['run.started', 'session.final-response']).flat());
    expect(rolesOf(3)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user', 'assistant', 'user']);
  });

  it('on_busy interrupt: the running tool is stopped, and only the newer turn is answered', async () => {
    const slow = await given();
    server.next(callTool('slow', {}));
    const runner = world.runner('a');
    const id = await world.create('old');
    await runner.checkSession(id);
    await eventually(() => slow.calls.length === 1);
    await happened(id, message('new', { source: 'webhook', interrupt: true }));
    runner.cancel(id);
    await eventually(() => slow.calls[0]?.signal.aborted);
    const events = await ended(id);
    expect(dataOf(events, 'run.cancelled')).toMatchObject([{ turn: 1 }]);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ turn: 2 }]);
    expect(dataOf(events, 'tool.finished')).toEqual([]);
    // The model sees a result for the call that has none: providers refuse a call without a result.
    expect(rolesOf(1)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
    expect(slow.calls).toHaveLength(1);
  });

  it('on_busy coalesce: the newest of the waiting turns is answered, and says that it replaces others', async () => {
    const slow = await given();
    server.next(callTool('slow', {}), say('first done'));
    const runner = world.runner('a');
    const id = await world.create('first');
    await runner.checkSession(id);
    await eventually(() => slow.calls.length === 1);
    await happened(id, message('second', { source: 'webhook' }));
    for (const input of ['third', 'fourth']) {
      await happened(id, {
        type: 'coalesce-webhook',
        deliveryId: input,
        input,
        startAfter: Date.now() - 1_000,
      });
    }
    slow.release();
    const events = await ended(id);
    expect(dataOf(events, 'session.final-response').map(({ turn }) => turn)).toEqual([1, 2]);
    expect(server.requests.at(-1)?.input).toMatch(/^fourth\n\n\[This replaces 2 earlier webhooks/);
  });

  it('D3, D4: an empty or silent answer is kept and not delivered, and later turns go on', async () => {
    await given();
    server.next(say('  \n'), say('[SILENT] all is well'), say('said'));
    const runner = world.runner('a');
    const id = await world.create('first');
    await happened(id, message('second'), message('third'));
    await runner.checkSession(id);
    const events = await ended(id);
    expect(answersOf(events)).toEqual([
      [1, '  \n', true],
      [2, '[SILENT] all is well', true],
      [3, 'said', false],
    ]);
    const outputs = (await world.sessions.load(id)).state.outputs;
    expect(outputs.map(({ kind, turn }) => [kind, turn])).toEqual([['final-response', 3]]);
    expect(rolesOf(2)).toEqual(['user', 'assistant', 'user', 'assistant', 'user']);
    expect(dataOf(events, 'session.ended')).toMatchObject([{ outcome: 'succeeded' }]);
  });

  it('D8: ten turns, queued and continued after the end: roles alternate and nothing is answered twice', async () => {
    await given();
    server.behave((request) => say(`re: ${request.input}`));
    const runner = world.runner('a');
    let id = await world.create('1');
    let turns = 1;
    for (let session = 0; session < 4; session++) {
      // Two more turns are there before its run starts; the last session has only one.
      const more = session === 3 ? [] : [message(String(++turns)), message(String(++turns))];
      if (more.length > 0) await happened(id, ...more);
      await runner.checkSession(id);
      const events = await ended(id);
      expect(answersOf(events)).toHaveLength(1 + more.length);
      if (session === 3) break;
      // As a message to an ended session, or `resume`, does.
      const old = await world.sessions.load(id);
      id = await world.create(String(++turns), 'default', [], continuation(old));
    }
    expect(turns).toBe(10);
    const inputs = server.requests.map(({ input }) => input);
    expect(inputs).toEqual(Array.from({ length: 10 }, (_, n) => String(n + 1)));
    const rows = transcript(await world.events(id)).map(({ role, content }) => [role, content]);
    expect(rows).toEqual(
      Array.from({ length: 10 }, (_, n) => [
        ['user', `${n + 1}`],
        ['assistant', `re: ${n + 1}`],
      ]).flat(),
    );
    expect(rolesOf(9)).toEqual([...Array(9).fill(['user', 'assistant']).flat(), 'user']);
  });

  it('C8: a message that comes during a resume is answered after it, in order', async () => {
    const slow = await given({ leaseSeconds: 1 });
    server.next(callTool('slow', {}));
    const dead = world.runner('dead');
    const id = await world.create('first');
    await dead.checkSession(id);
    await eventually(() => slow.calls.length === 1);
    dead.cut();
    server.next(say('resumed', 500));
    const other = world.runner('other');
    await eventually(async () => {
      await other.checkSession(id);
      return server.requests.length === 2;
    });
    await happened(id, message('second'));
    await other.checkSession(id);
    const events = await ended(id);
    expect(answersOf(events)).toEqual([
      [1, 'resumed', false],
      [2, 'answer to: second', false],
    ]);
    // C14: a call that the dead run had started is not started again; the model is told.
    expect(slow.calls).toHaveLength(1);
    expect(server.requests[1]?.results).toEqual([expect.stringContaining('unknown')]);
    expect(
      dataOf(events, 'run.started').map(({ generation, turn, resumed }) => [generation, turn, resumed]),
    ).toEqual([
      [1, 1, false],
      [2, 1, true],
      [3, 2, false],
    ]);
  });
});
