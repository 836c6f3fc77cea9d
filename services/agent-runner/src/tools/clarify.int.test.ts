import { type EventData, type EventType, runResource, type SessionId } from '@angelia/contracts';
import { decide, sessionStatus } from '@angelia/session';
import { eventually } from '@angelia/testkit';
import { afterEach, describe, expect, it } from '@jest/globals';
import { runnerFixture } from '../testing/runner-fixture.ts';
import { callsFor, says, scriptedModel } from '../testing/scripted-model.ts';

let world: Awaited<ReturnType<typeof runnerFixture>>;
let model: ReturnType<typeof scriptedModel>;

afterEach(() => world.stop());

const given = async (agent: Record<string, unknown> = {}) => {
  model = scriptedModel();
  world = await runnerFixture({
    model: model.model,
    leaseSeconds: 5,
    agent: { toolsets: ['clarify'], ...agent },
  });
  return world.runner('a');
};

const clarify = (args: unknown) => callsFor({ name: 'clarify', args });

async function has<T extends EventType>(id: SessionId, type: T, times = 1): Promise<EventData<T>> {
  return eventually(async () => {
    const found = (await world.events(id)).filter((event) => event.type === type);
    return found.length >= times && (found[times - 1]?.data as EventData<T>);
  });
}

async function answer(id: SessionId, text: string): Promise<void> {
  const executed = await world.sessions.execute(id, ({ state }) =>
    decide(state, {
      type: 'answer-clarification',
      clarificationId: state.clarification?.id ?? '',
      answer: text,
      by: 'api',
    }),
  );
  expect(executed.status).toBe('appended');
}

async function message(id: SessionId, input: string): Promise<void> {
  await world.sessions.execute(id, ({ state }) =>
    decide(state, { type: 'request-turn', source: 'message', input, deliveryId: null }),
  );
}

const lastRows = (count: number) => model.requests.at(-1)?.messages.slice(-count);
const QUESTION = { question: 'Red or blue?', choices: ['Red', 'Blue'] };

describe('a question to the user', () => {
  it('is recorded with its choices and a deadline; the session waits and no runner holds it', async () => {
    const runner = await given({ clarify: { timeout_seconds: 600 } });
    model.next(clarify(QUESTION));
    const id = await world.create('paint it');
    await runner.checkSession(id);
    const asked = await has(id, 'clarification.requested');
    expect(asked).toMatchObject({ ...QUESTION, on_timeout: 'end', turn: 1, generation: 1 });
    // By the database's clock, counted from when the step was recorded.
    const events = await world.events(id);
    const step = events.find(({ type }) => type === 'model.responded');
    expect(Date.parse(asked.deadline)).toBe((step?.recordedAt ?? 0) + 600_000);

    await runner.idle();
    const { state } = await world.sessions.load(id);
    expect(sessionStatus(state)).toBe('waiting');
    expect(state.run).toBeNull();
    expect((await world.log.leases.read(runResource(id))).lease).toBeNull();
    // However often a runner looks at it.
    await runner.checkSession(id);
    await runner.checkDueSession(id);
    await runner.idle();
    expect(model.requests).toHaveLength(1);
    expect((await world.types(id)).at(-1)).toBe('clarification.requested');
  });

  it('that is answered lets the turn continue on any runner, and not as a resumed run', async () => {
    const first = await given();
    model.next(clarify(QUESTION), says('Blue it is.'));
    const id = await world.create('paint it');
    await first.checkSession(id);
    await has(id, 'clarification.requested');
    await first.idle();
    await answer(id, 'Blue');
    await world.runner('b').checkSession(id);
    expect(await has(id, 'session.ended')).toMatchObject({ outcome: 'succeeded' });
    expect(await has(id, 'session.final-response')).toMatchObject({ text: 'Blue it is.' });
    expect(lastRows(2)).toMatchObject([
      { role: 'assistant', toolCalls: [{ name: 'clarify' }] },
      { role: 'tool', tool: 'clarify', content: '{"answer":"Blue"}' },
    ]);
    expect(await has(id, 'run.started', 2)).toMatchObject({ generation: 2, resumed: false });
    expect(model.requests).toHaveLength(2);
  });

  it('holds no slot: with one slot, all sessions can ask, and the one that is answered continues', async () => {
    const runner = await given({ max_concurrency: 1 });
    model.next(clarify(QUESTION), clarify(QUESTION), clarify(QUESTION), says('one'));
    const ids = [await world.create('a'), await world.create('b'), await world.create('c')];
    for (const id of ids) await runner.checkSession(id);
    for (const id of ids) await has(id, 'clarification.requested');
    await runner.idle();
    const [, second] = ids as [SessionId, SessionId];
    await answer(second, 'Red');
    await runner.checkSession(second);
    await has(second, 'session.ended');
  });

  it('is asked one at a time if a step has several', async () => {
    const runner = await given();
    model.next(
      callsFor(
        { name: 'clarify', args: { question: 'One?' }, id: 'x' },
        { name: 'clarify', args: { question: 'Two?' }, id: 'y' },
      ),
    );
    const id = await world.create('paint it');
    await runner.checkSession(id);
    expect(await has(id, 'clarification.requested')).toMatchObject({ question: 'One?', choices: [] });
    await runner.idle();
    await answer(id, '1');
    await runner.checkSession(id);
    expect(await has(id, 'clarification.requested', 2)).toMatchObject({ question: 'Two?' });
    await runner.idle();
    await answer(id, '2');
    await runner.checkSession(id);
    await has(id, 'session.ended');
    expect(lastRows(2)).toMatchObject([{ content: '{"answer":"1"}' }, { content: '{"answer":"2"}' }]);
  });

  it('that cannot be asked is an error for the model', async () => {
    const runner = await given();
    model.next(clarify({ question: ' ' }));
    const id = await world.create('paint it');
    await runner.checkSession(id);
    await has(id, 'session.ended');
    expect(await world.types(id)).not.toContain('clarification.requested');
    expect(await has(id, 'tool.finished')).toMatchObject({
      outcome: 'error',
      result: expect.stringContaining('`question`'),
    });
  });
});

describe('a question that nobody answers (C5)', () => {
  const due = async (runner: Awaited<ReturnType<typeof given>>, id: SessionId): Promise<void> => {
    await eventually(async () => {
      await runner.checkDueSession(id);
      return (await world.types(id)).includes('clarification.timed-out');
    });
  };

  it('ends the session with a message, and the model is not asked again', async () => {
    const runner = await given({ clarify: { timeout_seconds: 0.3 } });
    model.next(clarify(QUESTION));
    const id = await world.create('paint it');
    await runner.checkSession(id);
    await has(id, 'clarification.requested');
    await due(runner, id);
    expect(await has(id, 'session.ended')).toMatchObject({ outcome: 'expired', reason: 'webhook_complete' });
    expect(await has(id, 'session.final-response')).toMatchObject({
      text: expect.stringContaining('No answer'),
      silent: false,
    });
    expect(model.requests).toHaveLength(1);
  });

  it('continues with "no answer" if the agent is configured so', async () => {
    const runner = await given({ clarify: { timeout_seconds: 0.3, on_timeout: 'continue' } });
    model.next(clarify(QUESTION), says('I took red.'));
    const id = await world.create('paint it');
    await runner.checkSession(id);
    await has(id, 'clarification.requested');
    await due(runner, id);
    expect(await has(id, 'session.ended')).toMatchObject({ outcome: 'succeeded' });
    expect(lastRows(1)).toMatchObject([{ role: 'tool', content: '{"answer":null,"timed_out":true}' }]);
  });

  it('leaves a message that came meanwhile its own turn, without unfinished work in it', async () => {
    const runner = await given({ clarify: { timeout_seconds: 0.3 } });
    model.next(clarify(QUESTION), says('It is noon.'));
    const id = await world.create('paint it');
    await runner.checkSession(id);
    await has(id, 'clarification.requested');
    await message(id, 'what time is it?');
    await runner.checkSession(id);
    expect(model.requests).toHaveLength(1);
    await due(runner, id);
    expect(await has(id, 'session.final-response', 2)).toMatchObject({ turn: 2, text: 'It is noon.' });
    expect(await has(id, 'session.ended')).toMatchObject({ outcome: 'succeeded' });
    expect(model.requests.at(-1)?.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
    ]);
    expect(lastRows(1)).toMatchObject([{ content: 'what time is it?' }]);
  });
});
