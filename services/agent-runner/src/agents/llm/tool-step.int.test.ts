import { setTimeout as pause } from 'node:timers/promises';
import type { EventData, EventType, RecordedEvent, SessionId } from '@angelia/contracts';
import { decideAll, type SessionCommand } from '@angelia/session';
import { eventually } from '@angelia/testkit';
import { afterEach, describe, expect, it } from '@jest/globals';
import { drainRuns } from '../../run/drain-runs.ts';
import { type FixtureOptions, runnerFixture } from '../../testing/runner-fixture.ts';
import { callsFor, hangs, says, scriptedModel } from '../../testing/scripted-model.ts';
import type { CallContext, RunnerTool, Tool, UserTool } from '../../tools/tool.ts';

let world: Awaited<ReturnType<typeof runnerFixture>>;
let model: ReturnType<typeof scriptedModel>;

afterEach(() => world.stop());

const given = async (tools: readonly Tool[], options: Omit<FixtureOptions, 'model'> = {}) => {
  model = scriptedModel();
  world = await runnerFixture({
    model: model.model,
    leaseSeconds: 5,
    ...options,
    agent: { toolsets: ['terminal', 'test'], ...options.agent },
    toolsets: { test: tools },
  });
};
const dataOf = <T extends EventType>(events: readonly RecordedEvent[], type: T): EventData<T>[] =>
  events.filter((event) => event.type === type).map((event) => event.data as EventData<T>);
const has = (id: SessionId, type: EventType, times = 1) =>
  eventually(async () => {
    const events = await world.events(id);
    return dataOf(events, type).length >= times && events;
  });
const ended = (id: SessionId) => has(id, 'session.ended');
/** Appends as another service or a dead runner would. */
const happened = (id: SessionId, ...commands: SessionCommand[]) =>
  world.sessions.execute(id, ({ state }) => decideAll(state, commands));

/** A tool that the runner carries out, and that counts its calls. */
function tool(
  name: string,
  run: (args: Record<string, unknown>, call: CallContext) => Promise<string> = async () => `${name} did it`,
  over: Partial<RunnerTool> = {},
) {
  const calls: { args: unknown; callId: string }[] = [];
  let inFlight = 0;
  let most = 0;
  const made: RunnerTool = {
    name,
    by: 'runner',
    parallel: true,
    description: `does ${name}`,
    parameters: { type: 'object' },
    check: () => null,
    async run(args, call) {
      calls.push({ args, callId: call.callId });
      inFlight += 1;
      most = Math.max(most, inFlight);
      try {
        return { outcome: 'ok', result: await run(args as Record<string, unknown>, call) };
      } finally {
        inFlight -= 1;
      }
    },
    ...over,
  };
  return Object.assign(made, { calls, mostAtOnce: () => most });
}

/** A run whose runner died after these steps: it has no lease any more. */
async function leftBehind(
  input: string,
  steps: (generation: number) => SessionCommand[],
): Promise<SessionId> {
  const id = await world.create(input);
  const start: SessionCommand = {
    type: 'start-run',
    generation: 1,
    turn: 1,
    runner: 'dead#1',
    resumed: false,
    attempt: 1,
    takeover: false,
  };
  const executed = await happened(id, start, ...steps(1));
  expect(executed.status).toBe('appended');
  return id;
}
const responded = (...calls: Parameters<typeof callsFor>): SessionCommand => ({
  type: 'record-model-response',
  generation: 1,
  step: 1,
  model: 'main',
  ...callsFor(...calls),
});
const started = (callId: string, name: string, args: unknown = {}): SessionCommand => ({
  type: 'start-tool',
  generation: 1,
  callId,
  tool: name,
  arguments: JSON.stringify(args),
});
const finished = (callId: string, result: string, generation: number | null = null): SessionCommand => ({
  type: 'finish-tool',
  generation,
  callId,
  outcome: 'ok',
  result,
});
const toolRows = (request = model.requests.at(-1)) =>
  (request?.messages ?? []).flatMap((message) => (message.role === 'tool' ? [message.content] : []));

describe('a run without tools', () => {
  it('appends twice and reads its stream once', async () => {
    await given([], { agent: { toolsets: [] } });
    const id = await world.create('work');
    const runner = world.runner('a');
    await runner.checkSession(id);
    await runner.idle();
    await ended(id);
    expect(runner.asked).toMatchObject({ append: 2, readStream: 1, lease: 0 });
  });
});

describe('a step with tool calls', () => {
  it('is recorded and started in one append, carried out, and its results go to the model', async () => {
    const add = tool('add', async ({ a, b }) => String(Number(a) + Number(b)));
    await given([add]);
    model.next(callsFor({ name: 'add', args: { a: 2, b: 3 } }), says('five'));
    const id = await world.create('add');
    const runner = world.runner('a');
    await runner.checkSession(id);
    const events = await ended(id);
    expect(events.slice(2).map(({ type }) => type)).toEqual([
      'run.started',
      'model.responded',
      'tool.started',
      'tool.finished',
      'model.responded',
      'session.final-response',
      'session.ended',
    ]);
    expect(dataOf(events, 'tool.finished')).toMatchObject([
      { call_id: 'call_1', outcome: 'ok', result: '5' },
    ]);
    expect(add.calls).toEqual([{ args: { a: 2, b: 3 }, callId: 'call_1' }]);
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['terminal', 'process', 'add']);
    expect(toolRows()).toEqual(['5']);
    await runner.idle();
    expect(runner.asked).toMatchObject({ append: 4, readStream: 1 });
  });

  it('reports the model’s text beside its calls to the user at once, as an interim status', async () => {
    await given([tool('act')]);
    model.next(
      { ...callsFor({ name: 'act' }), text: 'Let me look.' },
      { ...callsFor({ name: 'act' }), text: '[SILENT]' },
      says('done'),
    );
    const id = await world.create('work');
    await world.runner('a').checkSession(id);
    const events = await ended(id);
    expect(dataOf(events, 'session.interim-status')).toMatchObject([{ kind: 'agent', text: 'Let me look.' }]);
    expect(events.slice(3, 6).map(({ type }) => type)).toEqual([
      'model.responded',
      'session.interim-status',
      'tool.started',
    ]);
  });

  it('runs parallel calls at once, and the others one after the other in the model’s order', async () => {
    const order: string[] = [];
    const slow = async (args: Record<string, unknown>) => {
      order.push(`begin ${args.n}`);
      await pause(50);
      order.push(`end ${args.n}`);
      return 'ok';
    };
    const [together, alone] = [tool('together', slow), tool('alone', slow, { parallel: false })];
    await given([together, alone]);
    model.next(
      callsFor(
        { name: 'alone', args: { n: 1 } },
        { name: 'together', args: { n: 2 } },
        { name: 'alone', args: { n: 3 } },
        { name: 'together', args: { n: 4 } },
      ),
    );
    const id = await world.create('work');
    await world.runner('a').checkSession(id);
    const events = await ended(id);
    expect([together.mostAtOnce(), alone.mostAtOnce()]).toEqual([2, 1]);
    expect(order.slice(4)).toEqual(['begin 1', 'end 1', 'begin 3', 'end 3']);
    expect(dataOf(events, 'tool.finished')).toHaveLength(4);
  });

  it('answers bad calls with what is wrong, and starts none of them', async () => {
    const strict = tool('strict', undefined, { check: () => 'n: a number is wanted' });
    const good = tool('good');
    await given([strict, good]);
    model.next(
      callsFor(
        { name: 'strict', args: { n: 'x' } },
        { name: 'gone' },
        { name: 'good', args: '{"a":' },
        { name: 'good', args: '[1]' },
        { name: 'good', args: '' },
        { name: 'terminal', args: { cmd: 'ls' } },
      ),
      says('sorry'),
    );
    const id = await world.create('work');
    await world.runner('a').checkSession(id);
    const events = await ended(id);
    expect(dataOf(events, 'tool.started').map(({ call_id }) => call_id)).toEqual(['call_5']);
    expect(dataOf(events, 'tool.finished').map(({ call_id, outcome }) => `${call_id} ${outcome}`)).toEqual([
      'call_1 error',
      'call_2 error',
      'call_3 error',
      'call_4 error',
      'call_6 error',
      'call_5 ok',
    ]);
    const rows = toolRows();
    expect(rows[0]).toContain('n: a number is wanted');
    expect(rows[1]).toContain('There is no tool gone; there are: terminal, process, strict, good');
    expect(rows[2]).toContain('not valid JSON');
    expect(rows[5]).toContain('command');
    expect(strict.calls).toEqual([]);
  });

  it('gives errors of a tool to the model as results, bounded and storable', async () => {
    await given([
      tool('throws', async () => {
        throw new Error('the disk is full');
      }),
      tool('floods', async () => 'x'.repeat(300_000)),
      tool('zero', async () => 'a\u0000b'),
    ]);
    model.next(callsFor({ name: 'throws' }, { name: 'floods' }, { name: 'zero' }));
    const id = await world.create('work');
    await world.runner('a').checkSession(id);
    await ended(id);
    const [thrown, flood, zero] = toolRows();
    expect(thrown).toBe('the disk is full');
    expect(flood?.length).toBeLessThan(201_000);
    expect(flood).toContain('100000 more characters were left out');
    expect(zero).toBe('a\ufffdb');
  });

  it('makes at most 32 calls at once', async () => {
    const act = tool('act');
    await given([act]);
    model.next(callsFor(...Array.from({ length: 40 }, () => ({ name: 'act' }))));
    const id = await world.create('work');
    await world.runner('a').checkSession(id);
    const outcomes = dataOf(await ended(id), 'tool.finished').map(({ outcome }) => outcome);
    expect(act.calls).toHaveLength(32);
    expect(outcomes.filter((outcome) => outcome === 'error')).toHaveLength(8);
    expect(toolRows()).toHaveLength(40);
  });

  it('is not confused by ids that the model reuses', async () => {
    const count = tool('count', async ({ n }) => `number ${n}`);
    await given([count]);
    model.next(callsFor({ name: 'count', args: { n: 1 } }), callsFor({ name: 'count', args: { n: 2 } }));
    const id = await world.create('work');
    await world.runner('a').checkSession(id);
    const events = await ended(id);
    expect(count.calls.map(({ callId }) => callId)).toEqual(['call_1', 'call_1_2_1']);
    expect(toolRows()).toEqual(['number 1', 'number 2']);
    expect(dataOf(events, 'tool.finished').map(({ result }) => result)).toEqual(['number 1', 'number 2']);
  });

  it('asks a person last, when every other call has its result, and holds no runner meanwhile', async () => {
    const person: UserTool = {
      name: 'person',
      by: 'user',
      description: 'asks',
      parameters: { type: 'object' },
      check: () => null,
      ask: (_args, { run, callId }) =>
        run.end([
          {
            type: 'request-clarification',
            generation: run.generation,
            clarificationId: `q-${callId}`,
            callId,
            question: 'which?',
            deadline: Date.now() + 60_000,
            onTimeout: 'end',
          },
        ]),
    };
    const act = tool('act');
    await given([person, act]);
    model.next(callsFor({ name: 'person' }, { name: 'act' }, { name: 'person' }), says('blue it is'));
    const id = await world.create('paint');
    const runner = world.runner('a');
    await runner.checkSession(id);
    const asked = await has(id, 'clarification.requested');
    expect(asked.map(({ type }) => type).slice(-2)).toEqual(['tool.finished', 'clarification.requested']);
    await runner.idle();
    expect(runner.size).toBe(0);
    expect((await world.log.leases.read(`run:${id}`)).lease).toBe(null);

    const answer = (call: string): SessionCommand => ({
      type: 'answer-clarification',
      clarificationId: `q-${call}`,
      answer: 'blue',
      by: 'api',
    });
    await happened(id, answer('call_1'));
    await runner.checkSession(id);
    await has(id, 'clarification.requested', 2);
    await runner.idle();
    await happened(id, answer('call_3'));
    await runner.checkSession(id);
    const events = await ended(id);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'blue it is' }]);
    expect(act.calls).toHaveLength(1);
    expect(model.requests).toHaveLength(2);
  });
});

describe('limits', () => {
  it('fails after max_steps model calls', async () => {
    await given([tool('again')], { agent: { max_steps: 3 } });
    model.next(...Array.from({ length: 9 }, () => callsFor({ name: 'again' })));
    const id = await world.create('work');
    await world.runner('a').checkSession(id);
    const events = await ended(id);
    expect(model.requests).toHaveLength(3);
    expect(dataOf(events, 'run.failed')).toMatchObject([{ code: 'max_steps' }]);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ outcome: 'failed', silent: false }]);
    expect(dataOf(events, 'tool.finished')).toHaveLength(3);
  });

  it('fails before the call that would go beyond the budget', async () => {
    await given([tool('again')], { agent: { budget: { max_tokens: 4 } } });
    model.next(...Array.from({ length: 9 }, () => callsFor({ name: 'again' })));
    const id = await world.create('work');
    await world.runner('a').checkSession(id);
    expect(dataOf(await ended(id), 'run.failed')).toMatchObject([{ code: 'budget' }]);
    expect(model.requests).toHaveLength(2);
  });

  it('fails at the timeout even while a tool works, and stops the tool', async () => {
    let stopped = false;
    const endless = tool('endless', async (_args, { signal }) => {
      signal.addEventListener('abort', () => {
        stopped = true;
      });
      return new Promise(() => {});
    });
    // Long enough for a busy machine to start the tool.
    await given([endless], { agent: { timeout_seconds: 3 } });
    model.next(callsFor({ name: 'endless' }));
    const id = await world.create('work');
    await world.runner('a').checkSession(id);
    expect(dataOf(await ended(id), 'run.failed')).toMatchObject([{ code: 'timeout' }]);
    expect(stopped).toBe(true);
  });

  it('fails for that reason when a toolset of the session is no longer configured', async () => {
    await given([]);
    const id = await world.create('work', 'default', [], { toolsets: ['mcp:gone'] });
    await world.runner('a').checkSession(id);
    const [failed] = dataOf(await ended(id), 'run.failed');
    expect(failed).toMatchObject({ code: 'toolset_missing' });
    expect(failed?.message).toContain('mcp:gone');
    expect(model.requests).toHaveLength(0);
  });

  it('gives a session no more tools than were captured for it', async () => {
    await given([tool('act')]);
    model.next(callsFor({ name: 'act' }));
    const id = await world.create('work', 'default', [], { toolsets: ['terminal'] });
    await world.runner('a').checkSession(id);
    const events = await ended(id);
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['terminal', 'process']);
    expect(dataOf(events, 'tool.finished')).toMatchObject([{ outcome: 'error' }]);
  });
});

describe('a call that process-watcher carries out', () => {
  const command = { name: 'terminal', args: { command: 'make', timeout_seconds: 1 } };

  it('is waited for, and its result goes to the model, even if no ping comes', async () => {
    await given([]);
    model.next(callsFor(command, command), says('made'));
    const id = await world.create('make');
    await world.runner('a', { deaf: true }).checkSession(id);
    await has(id, 'tool.started', 2);
    await happened(id, finished('call_1', '{"exit_code":0}'));
    await happened(id, finished('call_2', '{"exit_code":1}'));
    const events = await ended(id);
    expect(toolRows()).toEqual(['{"exit_code":0}', '{"exit_code":1}']);
    expect(dataOf(events, 'tool.started').map((data) => data.arguments)).toEqual(
      Array(2).fill(JSON.stringify(command.args)),
    );
  });

  it('is noticed at once when a ping announces the commit', async () => {
    const STEPS = 12;
    await given([]);
    model.next(
      ...Array.from({ length: STEPS }, (_, n) => callsFor({ ...command, id: `c${n}` })),
      says('made'),
    );
    const id = await world.create('make');
    await world.runner('a').checkSession(id);
    const took: number[] = [];
    for (let n = 0; n < STEPS; n += 1) {
      const startedAt = performance.now();
      await has(id, 'tool.started', n + 1);
      await happened(id, finished(`c${n}`, 'done'));
      took.push(performance.now() - startedAt);
    }
    await ended(id);
    // Without pings each but the first would take at least 400 ms. On a busy machine at least one is quicker.
    expect(Math.min(...took.slice(1))).toBeLessThan(400);
  });

  it('has an unknown outcome when its limit passes without a result', async () => {
    await given([]);
    model.next(callsFor({ ...command, args: { ...command.args, timeout_seconds: 0.2 } }));
    const id = await world.create('make');
    await world.runner('a', { watcherGraceSeconds: 0.2 }).checkSession(id);
    const events = await ended(id);
    expect(dataOf(events, 'tool.finished')).toMatchObject([{ outcome: 'unknown' }]);
    expect(toolRows()[0]).toContain('outcome of this call is unknown');
    // A later result changes nothing.
    expect((await happened(id, finished('call_1', 'late'))).status).toBe('refused');
  });

  it('outlives the runner that asked for it: the next one waits for the result and does not start it again', async () => {
    await given([]);
    const id = await leftBehind('make', () => [
      responded(command, command),
      started('call_1', 'terminal', command.args),
    ]);
    await happened(id, finished('call_1', 'the first result'));
    model.next(says('made'));
    await world.runner('b').checkSession(id);
    // The second was only asked for: it is started now.
    await has(id, 'tool.started', 2);
    await happened(id, finished('call_2', 'the second result'));
    const events = await ended(id);
    expect(dataOf(events, 'tool.started').map(({ call_id, generation }) => [call_id, generation])).toEqual([
      ['call_1', 1],
      ['call_2', 2],
    ]);
    expect(toolRows()).toEqual(['the first result', 'the second result']);
  });

  it('does not hold a run that fails beside it', async () => {
    // Postgres refuses this for good: a retry does not help.
    const bad = tool('bad', undefined, {
      run: async () => ({ outcome: 'not an outcome' as 'ok', result: Symbol('x') as unknown as string }),
    });
    await given([bad]);
    model.next(callsFor({ ...command, args: { command: 'sleep 99', timeout_seconds: 99 } }, { name: 'bad' }));
    const id = await world.create('make');
    const runner = world.runner('a');
    await runner.checkSession(id);
    expect(dataOf(await ended(id), 'run.failed')).toMatchObject([{ code: 'internal' }]);
    await runner.idle();
  });

  it('is waited for after a drain by the runner that continues', async () => {
    await given([]);
    model.next(callsFor(command), says('made'));
    const id = await world.create('make');
    const first = world.runner('a');
    await first.checkSession(id);
    await has(id, 'tool.started');
    const hurry = AbortSignal.abort();
    await drainRuns(first).drain(Date.now() + 5_000, hurry);
    await world.runner('b').checkSession(id);
    await has(id, 'run.started', 2);
    await happened(id, finished('call_1', 'survived'));
    const events = await ended(id);
    expect(dataOf(events, 'tool.started')).toHaveLength(1);
    expect(toolRows()).toEqual(['survived']);
  });
});

describe('a runner that died in the middle of a step', () => {
  it('after a recorded answer: the next one starts its calls and does not ask the model again', async () => {
    const act = tool('act');
    await given([act]);
    const id = await leftBehind('work', () => [responded({ name: 'act' })]);
    model.next(says('done'));
    await world.runner('b').checkSession(id);
    const events = await ended(id);
    expect(act.calls).toHaveLength(1);
    expect(model.requests).toHaveLength(1);
    expect(dataOf(events, 'model.responded')).toHaveLength(2);
  });

  it('between start and end of a call: it is not made again, and the model is told that its outcome is unknown', async () => {
    const act = tool('act');
    await given([act]);
    const id = await leftBehind('work', () => [
      responded({ name: 'act' }, { name: 'act' }),
      started('call_1', 'act'),
    ]);
    await world.runner('b').checkSession(id);
    const events = await ended(id);
    expect(act.calls.map(({ callId }) => callId)).toEqual(['call_2']);
    expect(
      dataOf(events, 'tool.finished')
        .map(({ call_id, outcome }) => `${call_id} ${outcome}`)
        .sort(),
    ).toEqual(['call_1 unknown', 'call_2 ok']);
    expect(toolRows()[0]).toContain('outcome of this call is unknown');
  });

  it('after a result: the call is not made again', async () => {
    const act = tool('act');
    await given([act]);
    const id = await leftBehind('work', (generation) => [
      responded({ name: 'act' }),
      started('call_1', 'act'),
      finished('call_1', 'was done', generation),
    ]);
    await world.runner('b').checkSession(id);
    await ended(id);
    expect(act.calls).toEqual([]);
    expect(toolRows()).toEqual(['was done']);
  });

  it('after the last answer, before its final response: that answer is given and the model is not asked (C13)', async () => {
    await given([]);
    const id = await leftBehind('work', () => [
      { ...(responded() as Extract<SessionCommand, { type: 'record-model-response' }>), text: 'the answer' },
    ]);
    await world.runner('b').checkSession(id);
    const events = await ended(id);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'the answer', generation: 2 }]);
    expect(model.requests).toHaveLength(0);
  });
});

describe('a run that is stopped while a tool works', () => {
  /** Ignores its signal, but notes when it is aborted. */
  const stubborn = () => {
    let abortedAt: number | null = null;
    const made = tool('stubborn', (_args, { signal }) => {
      signal.addEventListener('abort', () => {
        abortedAt = performance.now();
      });
      return new Promise(() => {});
    });
    return Object.assign(made, { abortedAt: () => abortedAt });
  };

  it.each([
    ['said', false],
    ['not said to anybody', true],
  ])('by a cancel that is %s, and nothing follows it', async (_case, silent) => {
    const work = stubborn();
    await given([work]);
    model.next(callsFor({ name: 'stubborn' }));
    const id = await world.create('work');
    const runner = world.runner('a', { deaf: true });
    await runner.checkSession(id);
    await eventually(() => work.calls.length === 1);
    await happened(id, { type: 'cancel', by: 'api' });
    if (!silent) runner.cancel(id);
    await eventually(() => work.abortedAt());
    await runner.idle();
    expect((await world.types(id)).slice(-2)).toEqual(['run.cancelled', 'session.ended']);
  });

  it('because Postgres cannot be reached', async () => {
    const work = stubborn();
    await given([work], { leaseSeconds: 1 });
    model.next(callsFor({ name: 'stubborn' }));
    const id = await world.create('work');
    const runner = world.runner('a');
    await runner.checkSession(id);
    await eventually(() => work.calls.length === 1);
    runner.cut();
    await eventually(() => work.abortedAt());
    runner.mend();
    await has(id, 'run.interrupted');
    await world.runner('b').checkSession(id);
    const events = await ended(id);
    expect(work.calls).toHaveLength(1);
    expect(dataOf(events, 'tool.finished')).toMatchObject([{ outcome: 'unknown' }]);
  });

  it('because it was frozen for longer than its lease: it does nothing with the result that it then gets', async () => {
    const act = tool('act');
    await given([act], { leaseSeconds: 1 });
    model.next(() => {
      // As in a freeze: no timer of this process runs meanwhile, and the answer is there before any of them.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_200);
      return callsFor({ name: 'act' });
    });
    const id = await world.create('work');
    await world.runner('a').checkSession(id);
    // Nobody took over meanwhile: it reports the interruption and starts again.
    const events = await ended(id);
    expect(dataOf(events, 'run.interrupted')).toMatchObject([{ generation: 1, reason: 'infrastructure' }]);
    expect(dataOf(events, 'model.responded')).toMatchObject([{ generation: 2, text: 'done' }]);
    expect(act.calls).toEqual([]);
  });

  it('because another runner took over: its late result is refused', async () => {
    let finish: (result: string) => void = () => {};
    const act = tool('act', () => new Promise((resolve) => (finish = resolve)));
    await given([act]);
    model.next(callsFor({ name: 'act' }), says('from the second'), says('never'));
    const id = await world.create('work');
    const first = world.runner('a', { deaf: true });
    await first.checkSession(id);
    await eventually(() => act.calls.length === 1);
    await happened(id, {
      type: 'start-run',
      generation: 2,
      turn: 1,
      runner: 'other#1',
      resumed: true,
      attempt: 2,
      takeover: true,
    });
    finish('too late');
    await first.idle();
    expect((await world.types(id)).slice(-1)).toEqual(['run.started']);
    expect(model.requests).toHaveLength(1);
  });

  it('by a newer turn: the next one is answered', async () => {
    const work = stubborn();
    await given([work]);
    model.next(callsFor({ name: 'stubborn' }), says('the newer one'));
    const id = await world.create('work');
    const runner = world.runner('a');
    await runner.checkSession(id);
    await eventually(() => work.calls.length === 1);
    await happened(id, {
      type: 'request-turn',
      source: 'message',
      input: 'stop that, do this',
      deliveryId: 'm2',
      interrupt: true,
    });
    runner.cancel(id);
    const events = await ended(id);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ turn: 2, text: 'the newer one' }]);
    expect(work.calls).toHaveLength(1);
  });
});

describe('a model that hangs', () => {
  it('is abandoned when only the log says that the run is cancelled', async () => {
    await given([]);
    let left = false;
    model.next((request, signal) => {
      signal.addEventListener('abort', () => {
        left = true;
      });
      return hangs(request, signal);
    });
    const id = await world.create('work');
    const runner = world.runner('a', { deaf: true });
    await runner.checkSession(id);
    await eventually(() => model.requests.length === 1);
    await happened(id, { type: 'cancel', by: 'api' });
    await runner.idle();
    expect(left).toBe(true);
  });
});
