import type { EventData, EventType, SessionId } from '@angelia/contracts';
import { type CreateSession, decide, digestOfArguments, openApproval, sessionStatus } from '@angelia/session';
import { eventually } from '@angelia/testkit';
import { afterEach, describe, expect, it } from '@jest/globals';
import { runnerFixture } from '../../testing/runner-fixture.ts';
import { callsFor, says, scriptedModel } from '../../testing/scripted-model.ts';
import type { RunnerTool } from '../../tools/tool.ts';

let world: Awaited<ReturnType<typeof runnerFixture>>;
let model: ReturnType<typeof scriptedModel>;

afterEach(() => world.stop());

/** A tool of an MCP server, as far as the loop knows: the runner carries it out. */
function tool(name: string, parallel = true) {
  const ran: unknown[] = [];
  const made: RunnerTool = {
    name,
    by: 'runner',
    parallel,
    description: name,
    parameters: { type: 'object' },
    check: () => null,
    async run(args) {
      ran.push(args);
      return { outcome: 'ok', result: `${name} did it` };
    },
  };
  return Object.assign(made, { ran });
}

const given = async (...tools: RunnerTool[]) => {
  model = scriptedModel();
  world = await runnerFixture({
    model: model.model,
    leaseSeconds: 5,
    agent: { toolsets: ['test'] },
    toolsets: { test: tools },
  });
};

const tools: NonNullable<CreateSession['tools']> = {
  policy: [
    { tool: 'mcp__*', match: '*"to":"nobody"*', do: 'deny' },
    { tool: 'mcp__*', match: '*"to":"all"*', do: 'ask' },
  ],
  approvers: [],
  approval_expires_seconds: 600,
};
const create = (over: Partial<CreateSession> = {}) =>
  world.create('do it', 'default', [], { tools, ...over });

async function has<T extends EventType>(id: SessionId, type: T, times = 1): Promise<EventData<T>> {
  return eventually(async () => {
    const found = (await world.events(id)).filter((event) => event.type === type);
    return found.length >= times && (found[times - 1]?.data as EventData<T>);
  });
}

/** A runner that is gone has claimed it, and its model asked for this call. */
async function claimed(id: SessionId, args: object) {
  const commands = [
    {
      type: 'start-run',
      generation: 1,
      turn: 1,
      runner: 'dead#1',
      resumed: false,
      attempt: 1,
      takeover: false,
    },
    {
      type: 'record-model-response',
      generation: 1,
      step: 1,
      model: 'main',
      text: '',
      toolCalls: [{ id: 'call_1', name: toAll.name, arguments: JSON.stringify(args) }],
      finishReason: 'tool-calls',
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  ] as const;
  for (const command of commands) {
    const executed = await world.sessions.execute(id, ({ state }) => decide(state, command));
    expect(executed.status).toBe('appended');
  }
  return world.sessions.load(id);
}

async function decided(id: SessionId, decision: 'approve' | 'deny', over: object = {}): Promise<void> {
  const executed = await world.sessions.execute(id, ({ state }) =>
    decide(state, {
      type: 'decide-approval',
      approvalId: openApproval(state)?.id ?? '',
      decision,
      scope: 'once',
      actor: 'api',
      way: 'api',
      reason: null,
      digest: null,
      now: state.lastActivityAt,
      ...over,
    }),
  );
  expect(executed.status).toBe('appended');
}

const toolRows = () =>
  (model.requests.at(-1)?.messages ?? []).flatMap((message) =>
    message.role === 'tool' ? [message.content] : [],
  );
const toAll = { name: 'mcp__chat__send', args: { to: 'all' } };

describe('a call that the policy asks about', () => {
  it('is requested with its exact arguments; the session waits, and nothing holds a runner', async () => {
    const send = tool('mcp__chat__send');
    await given(send);
    const written = '{ "to" : "all" }';
    model.next(callsFor({ name: send.name, args: written }));
    const id = await create();
    const runner = world.runner('a');
    await runner.checkSession(id);
    expect(await has(id, 'approval.requested')).toMatchObject({
      approval_id: `${id}.1`,
      call_id: 'call_1',
      tool: send.name,
      arguments: written,
      digest: digestOfArguments('{"to":"all"}'),
      rule: { tool: 'mcp__*', match: '*"to":"all"*' },
    });
    await runner.idle();
    const { state } = await world.sessions.load(id);
    expect(sessionStatus(state)).toBe('waiting');
    expect((await world.log.leases.read(`run:${id}`)).lease).toBeNull();
    // However often a runner looks at it.
    await runner.checkSession(id);
    await runner.checkDueSession(id);
    await runner.idle();
    expect([send.ran, model.requests.length]).toEqual([[], 1]);
  });

  it('runs once when it is approved, on any runner, and its start names the approval', async () => {
    const send = tool('mcp__chat__send');
    await given(send);
    model.next(callsFor(toAll), says('sent'));
    const id = await create();
    const first = world.runner('a');
    await first.checkSession(id);
    await has(id, 'approval.requested');
    await first.idle();
    await decided(id, 'approve');
    await world.runner('b').checkSession(id);
    expect(await has(id, 'session.final-response')).toMatchObject({ text: 'sent' });
    expect(send.ran).toEqual([{ to: 'all' }]);
    expect(await has(id, 'tool.started')).toMatchObject({
      generation: 2,
      approval: { approval_id: `${id}.1`, digest: digestOfArguments('{"to":"all"}') },
    });
    expect(await has(id, 'run.started', 2)).toMatchObject({ resumed: false });
    expect(toolRows()).toEqual([`${send.name} did it`]);
  });

  it('does not run if other arguments were approved than those of the model, and the model is told', async () => {
    const send = tool('mcp__chat__send');
    await given(send);
    const id = await create();
    const runner = world.runner('a');
    // As nobody who goes through `decide` could write it: the request shows something else than what would run.
    const written = '{"to":"all","text":"something else"}';
    const { state } = await claimed(id, { to: 'all', text: 'harmless' });
    const executed = await world.sessions.execute(id, () => ({
      ok: true,
      events: [
        {
          type: 'approval.requested',
          data: {
            generation: state.generation,
            turn: 1,
            approval_id: `${id}.1`,
            call_id: 'call_1',
            tool: send.name,
            arguments: written,
            digest: digestOfArguments(written),
            rule: { tool: 'mcp__*', match: '*"to":"all"*' },
            approvers: [],
            expires_at: new Date(Date.now() + 600_000).toISOString(),
          },
        },
      ],
    }));
    expect(executed.status).toBe('appended');
    await decided(id, 'approve');
    model.next(says('then not'));
    await runner.checkSession(id);
    await has(id, 'session.ended');
    expect(send.ran).toEqual([]);
    expect(await world.types(id)).not.toContain('tool.started');
    expect(toolRows()).toEqual([expect.stringContaining('not those that were approved')]);
  });

  it('that is denied does not run, and the model reads the reason', async () => {
    const send = tool('mcp__chat__send');
    await given(send);
    model.next(callsFor(toAll), says('I will not'));
    const id = await create();
    const runner = world.runner('a');
    await runner.checkSession(id);
    await has(id, 'approval.requested');
    await runner.idle();
    await decided(id, 'deny', { reason: 'not at night' });
    await runner.checkSession(id);
    await has(id, 'session.ended');
    expect(send.ran).toEqual([]);
    expect(JSON.parse(toolRows()[0] ?? '')).toMatchObject({ denied: true, reason: 'not at night' });
  });

  it('that nobody decides about expires closed, and the turn goes on', async () => {
    const send = tool('mcp__chat__send');
    await given(send);
    model.next(callsFor(toAll), says('nobody let me'));
    const id = await create({ tools: { ...tools, approval_expires_seconds: 0.001 } });
    const runner = world.runner('a');
    await runner.checkSession(id);
    await has(id, 'approval.requested');
    await runner.idle();
    await runner.checkDueSession(id);
    expect(await has(id, 'session.final-response')).toMatchObject({
      text: 'nobody let me',
      outcome: 'succeeded',
    });
    expect(await has(id, 'approval.expired')).toMatchObject({ reason: 'time' });
    expect(send.ran).toEqual([]);
    expect(toolRows()).toEqual([expect.stringContaining('nobody approved it in time')]);
  });

  it('waits alone: calls that may run at the same time do, those after it in a sequence do not', async () => {
    const [send, look, step] = [tool('mcp__chat__send', false), tool('look'), tool('step', false)];
    await given(send, look, step);
    model.next(callsFor(toAll, { name: 'step' }, { name: 'look' }), says('done'));
    const id = await create();
    const runner = world.runner('a');
    await runner.checkSession(id);
    await has(id, 'approval.requested');
    await runner.idle();
    expect([send.ran.length, look.ran.length, step.ran.length]).toEqual([0, 1, 0]);
    await decided(id, 'approve');
    await runner.checkSession(id);
    await has(id, 'session.ended');
    const started = (await world.events(id)).filter(({ type }) => type === 'tool.started');
    expect(started.map(({ data }) => (data as EventData<'tool.started'>).tool)).toEqual([
      'look',
      'mcp__chat__send',
      'step',
    ]);
  });

  it('is asked about once for the session, if it was approved for the session', async () => {
    const send = tool('mcp__chat__send');
    await given(send);
    model.next(
      callsFor(toAll),
      callsFor({ name: send.name, args: { to: 'all', again: true } }),
      says('done'),
    );
    const id = await create();
    const runner = world.runner('a');
    await runner.checkSession(id);
    await has(id, 'approval.requested');
    await runner.idle();
    await decided(id, 'approve', { scope: 'session' });
    await runner.checkSession(id);
    await has(id, 'session.ended');
    expect(send.ran).toEqual([{ to: 'all' }, { to: 'all', again: true }]);
    expect(await has(id, 'tool.started', 2)).toMatchObject({ approval: { approval_id: `${id}.1` } });
  });
});

describe('a call that the policy denies', () => {
  it('does not run, nobody is asked, and the model is told', async () => {
    const send = tool('mcp__chat__send');
    await given(send);
    model.next(callsFor({ name: send.name, args: { to: 'nobody' } }), says('then not'));
    const id = await create();
    await world.runner('a').checkSession(id);
    await has(id, 'session.ended');
    expect(send.ran).toEqual([]);
    expect(toolRows()).toEqual([expect.stringContaining('policy for your tools denies it')]);
    expect(await world.types(id)).not.toContain('approval.requested');
  });
});

describe('a runner that dies', () => {
  it('between the approval and the start of the call: the next one starts it, once', async () => {
    const send = tool('mcp__chat__send');
    await given(send);
    model.next(callsFor(toAll), says('sent'));
    const id = await create();
    const dying = world.runner('a');
    await dying.checkSession(id);
    await has(id, 'approval.requested');
    await dying.idle();
    await decided(id, 'approve');
    // It has claimed the run and does nothing more.
    const { state } = await world.sessions.load(id);
    await world.sessions.execute(id, (now) =>
      decide(now.state, {
        type: 'start-run',
        generation: state.generation + 1,
        turn: 1,
        runner: 'dead#1',
        resumed: false,
        attempt: 1,
        takeover: false,
      }),
    );
    await world.runner('b').checkSession(id);
    await has(id, 'session.ended');
    expect(send.ran).toEqual([{ to: 'all' }]);
    expect(await has(id, 'tool.started')).toMatchObject({ generation: 3 });
  });

  it('after the start of the call: it does not run again, and the model is told that its outcome is unknown', async () => {
    const send = tool('mcp__chat__send');
    await given(send);
    model.next(callsFor(toAll), says('I will check'));
    const id = await create();
    const runner = world.runner('a');
    await runner.checkSession(id);
    await has(id, 'approval.requested');
    await runner.idle();
    await decided(id, 'approve');
    const start = { generation: 2, callId: 'call_1', tool: send.name, arguments: '{"to":"all"}' };
    for (const command of [
      {
        type: 'start-run',
        generation: 2,
        turn: 1,
        runner: 'dead#1',
        resumed: false,
        attempt: 1,
        takeover: false,
      },
      { type: 'start-tool', ...start },
    ] as const) {
      const executed = await world.sessions.execute(id, ({ state }) => decide(state, command));
      expect(executed.status).toBe('appended');
    }
    await world.runner('b').checkSession(id);
    await has(id, 'session.ended');
    expect(send.ran).toEqual([]);
    expect(toolRows()).toEqual([expect.stringContaining('outcome of this call is unknown')]);
  });
});
