import type { EventData, EventType, RecordedEvent, SessionId } from '@angelia/contracts';
import { sessionSummary, transcript } from '@angelia/session';
import { eventually, fail, type ModelServer, type ModelStep, say, startModelServer } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runnerFixture } from '../../testing/runner-fixture.ts';
import type { RunnerTool } from '../../tools/tool.ts';

let server: ModelServer;
let world: Awaited<ReturnType<typeof runnerFixture>>;
let carriedOut: unknown[];

beforeEach(async () => {
  server = await startModelServer();
  carriedOut = [];
});
afterEach(async () => {
  await server.stop();
  await world.stop();
  expect(server.problems).toEqual([]);
});

const write: RunnerTool = {
  name: 'write',
  by: 'runner',
  parallel: true,
  description: 'writes',
  parameters: { type: 'object' },
  check: () => null,
  run: async (args) => {
    carriedOut.push(args);
    return { outcome: 'ok', result: 'written' };
  },
};

const given = async (provider: string, agent: Record<string, unknown> = {}, leaseSeconds = 10) => {
  const main = { provider, base_url: server.baseUrl, model: 'm1', api_key: 'k' };
  world = await runnerFixture({
    models: { main },
    leaseSeconds,
    agent: { toolsets: ['test'], ...agent },
    toolsets: { test: [write] },
  });
};
const endOf = (id: SessionId, check: () => Promise<unknown> = async () => {}): Promise<RecordedEvent[]> =>
  eventually(async () => {
    await check();
    const now = await world.events(id);
    return now.some(({ type }) => type === 'session.ended') && now;
  });
const run = async (): Promise<{ id: SessionId; events: RecordedEvent[] }> => {
  const id = await world.create('tell me everything');
  await world.runner('a').checkSession(id);
  return { id, events: await endOf(id) };
};
const dataOf = <T extends EventType>(events: readonly RecordedEvent[], type: T): EventData<T>[] =>
  events.filter((event) => event.type === type).map((event) => event.data as EventData<T>);
const cut = (
  text: string,
  toolCalls: Extract<ModelStep, { kind: 'answer' }>['toolCalls'] = [],
): ModelStep => ({
  kind: 'answer',
  text,
  finishReason: 'length',
  toolCalls,
});

describe.each(['openai-compatible', 'openai', 'anthropic'])(
  'an answer of %s that is cut at its limit',
  (provider) => {
    it('goes on where it was cut, and is one answer', async () => {
      await given(provider);
      server.next(cut('The whole sto'), cut('ry is long,'), say(' and ends here.'));
      const { id, events } = await run();
      const [answer] = dataOf(events, 'session.final-response');
      expect(answer).toMatchObject({ text: 'The whole story is long, and ends here.', outcome: 'succeeded' });
      expect(answer?.cut).toBeUndefined();
      const last = server.requests.at(-1)?.body.messages ?? [];
      const text = (content: (typeof last)[number]['content'] | undefined) =>
        typeof content === 'string' ? content : (content ?? []).map((part) => part.text).join('');
      expect(last.slice(-2).map(({ role }) => role)).toEqual(['assistant', 'user']);
      expect(text(last.at(-2)?.content)).toBe('The whole story is long,');
      expect(transcript(events).map(({ role, content }) => [role, content])).toEqual([
        ['user', 'tell me everything'],
        ['assistant', 'The whole story is long, and ends here.'],
      ]);
      expect((await world.sessions.load(id)).state.usage.output_tokens).toBe(15);
    });

    it('is marked, for the user and in the session, when it reaches the steps of the agent', async () => {
      await given(provider, { max_steps: 2 });
      server.next(cut('one'), cut(' two'));
      const { id, events } = await run();
      expect(server.requests).toHaveLength(2);
      expect(dataOf(events, 'session.final-response')).toMatchObject([
        {
          text: expect.stringMatching(/^one two\n\n\[The answer ends here/),
          outcome: 'succeeded',
          cut: true,
        },
      ]);
      expect(sessionSummary(id, (await world.sessions.load(id)).state)).toMatchObject({ answer_cut: true });
    });

    it('is marked when it reaches the budget, or when the model refuses to go on', async () => {
      await given(provider, { budget: { max_tokens: 15 } });
      server.next(cut('one'));
      const spent = await run();
      expect(dataOf(spent.events, 'session.final-response')).toMatchObject([
        { cut: true, outcome: 'succeeded' },
      ]);
      await world.stop();
      await given(provider);
      server.next(cut('one'), fail(400));
      const refused = await run();
      expect(dataOf(refused.events, 'session.final-response')).toMatchObject([
        { text: expect.stringMatching(/^one\n/), cut: true },
      ]);
      expect(server.requests.length).toBe(3);
    });

    it('is not carried out if it was cut within a call', async () => {
      await given(provider);
      server.next(
        cut('Writing. ', [
          { name: 'write', args: { whole: true } },
          { name: 'write', args: '' },
        ]),
        say('so be it'),
      );
      const { events } = await run();
      expect(carriedOut).toEqual([{ whole: true }]);
      expect(server.requests[1]?.results[1]).toContain('cut off');
      expect(
        dataOf(events, 'tool.finished')
          .map(({ outcome }) => outcome)
          .sort(),
      ).toEqual(['error', 'ok']);
    });
  },
);

it('an answer that was cut, then calls a tool: what was said before is part of the step', async () => {
  await given('openai-compatible');
  server.next(
    cut('I will wri'),
    { kind: 'answer', text: 'te it.', toolCalls: [{ name: 'write', args: {} }] },
    say('done'),
  );
  const { events } = await run();
  expect(dataOf(events, 'session.interim-status')).toMatchObject([{ text: 'I will write it.' }]);
  expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'done' }]);
  expect(server.requests[2]?.body.messages.at(-2)).toMatchObject({ content: 'I will write it.' });
});

it('a run that is lost after its answer was cut is followed by one that goes on with it', async () => {
  await given('openai-compatible', {}, 1);
  let asked = 0;
  server.behave(({ input }) => {
    if (!input.includes('cut off')) return cut('first half');
    asked += 1;
    return say(', second half', asked === 1 ? 60_000 : 0);
  });
  const id = await world.create('tell me');
  const dead = world.runner('dead');
  await dead.checkSession(id);
  await eventually(() => asked === 1);
  dead.cut();
  const other = world.runner('other');
  const events = await endOf(id, () => other.checkSession(id));
  expect(dataOf(events, 'session.final-response')).toMatchObject([
    { text: 'first half, second half', generation: 2 },
  ]);
  expect(dataOf(events, 'model.responded')).toHaveLength(2);
});
