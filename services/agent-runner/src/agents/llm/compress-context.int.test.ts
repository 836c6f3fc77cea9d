import type { EventData, EventType, RecordedEvent, SessionId } from '@angelia/contracts';
import { transcript } from '@angelia/session';
import {
  callTool,
  eventually,
  type ModelRequest,
  type ModelServer,
  say,
  startModelServer,
  tooLong,
} from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type FixtureOptions, runnerFixture } from '../../testing/runner-fixture.ts';
import type { Tool } from '../../tools/tool.ts';

let server: ModelServer;
let world: Awaited<ReturnType<typeof runnerFixture>>;

beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  await server.stop();
  await world.stop();
  expect(server.problems).toEqual([]);
});

/** A file of this many words, each of one or two tokens. */
const read: Tool = {
  name: 'read',
  description: 'Reads a file.',
  parameters: { type: 'object', properties: { words: { type: 'number' } } },
  by: 'runner',
  parallel: true,
  check: () => null,
  run: async (args) => ({ outcome: 'ok', result: words((args as { words: number }).words) }),
};
const words = (count: number) => Array.from({ length: count }, (_, n) => `word${n}`).join(' ');

const given = async (over: Omit<FixtureOptions, 'modelUrl'> = {}, contextTokens = 8_000) => {
  const main = { provider: 'openai-compatible', base_url: server.baseUrl, model: 'm1' };
  world = await runnerFixture({
    modelUrl: server.baseUrl,
    // A machine under load must not lose the lease: only the test of a lost run is about that.
    leaseSeconds: 10,
    toolsets: { files: [read] },
    ...over,
    agent: { toolsets: ['files'], ...over.agent },
    models: { main: { ...main, context_tokens: contextTokens }, ...over.models },
  });
};
const run = async (input: string): Promise<{ id: SessionId; events: RecordedEvent[] }> => {
  const id = await world.create(input);
  await world.runner('a').checkSession(id);
  const events = await eventually(async () => {
    const now = await world.events(id);
    return now.some((event) => event.type === 'session.ended') && now;
  });
  return { id, events: [...events] };
};
const dataOf = <T extends EventType>(events: readonly RecordedEvent[], type: T): EventData<T>[] =>
  events.filter((event) => event.type === type).map((event) => event.data as EventData<T>);
const isSummaryRequest = ({ input }: ModelRequest) => input.startsWith('<record>');
const summaries = () => server.requests.filter(isSummaryRequest);
/** Four characters per token, as a provider would count the plain text of these tests. */
const tokens = (request: ModelRequest | undefined) => JSON.stringify(request?.body.messages).length / 4;

describe('a conversation that nears the model’s window', () => {
  it('continues with a summary of its older steps; the last ones stay, the log keeps all, the user is told', async () => {
    await given();
    let step = 0;
    server.behave((request) => {
      if (isSummaryRequest(request)) {
        return { kind: 'answer', text: 'Read three files: nothing.', usage: { input: 50, output: 7 } };
      }
      step += 1;
      return step <= 6 ? callTool('read', { words: 700 }) : say('done');
    });
    const { id, events } = await run('read them all');

    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'done', outcome: 'succeeded' }]);
    expect(dataOf(events, 'tool.finished')).toHaveLength(6);
    const compressed = dataOf(events, 'context.compressed');
    expect(compressed).toMatchObject([
      { model: 'main', summary: 'Read three files: nothing.', input: null, usage: { input_tokens: 50 } },
    ]);
    expect(dataOf(events, 'session.interim-status').map(({ kind }) => kind)).toEqual(['compression']);

    // Every step is either in the request for the summary or still sent.
    const [asked] = summaries();
    const after = server.requests[server.requests.indexOf(asked as ModelRequest) + 1];
    const results = (request: ModelRequest | undefined) => request?.results.length ?? 0;
    const told = (asked?.input.match(/## result of/g) ?? []).length;
    expect(results(after)).toBeGreaterThan(0);
    expect(told + results(after)).toBe(
      results(server.requests[server.requests.indexOf(asked as ModelRequest) - 1]) + 1,
    );
    expect(after?.input).toMatch(/^read them all\n\n.*Read three files: nothing\.$/s);
    for (const request of server.requests) expect(tokens(request)).toBeLessThan(8_000);
    expect(transcript(await world.events(id))[0]?.content).toContain('Read three files');
    expect((await world.sessions.load(id)).state.usage).toEqual({
      input_tokens: 7 * 10 + 50,
      output_tokens: 7 * 5 + 7,
    });
  });

  it('uses the provider’s count if it is higher than ours', async () => {
    await given({}, 128_000);
    server.behave((request) => {
      if (isSummaryRequest(request)) return say('the summary');
      if (request.results.length > 0 || request.input.includes('the summary')) return say('done');
      return { ...callTool('read', { words: 5 }), usage: { input: 120_000, output: 5 } } as ReturnType<
        typeof say
      >;
    });
    const { events } = await run('go');
    expect(dataOf(events, 'context.compressed')).toMatchObject([{ summary: 'the summary' }]);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'done' }]);
  });

  it('is not compressed again and again if that does not help', async () => {
    await given(
      { agent: { toolsets: ['files'], max_steps: 8, budget: { max_tokens: 10_000_000 } } },
      128_000,
    );
    let step = 0;
    server.behave((request) => {
      if (isSummaryRequest(request)) return say('the summary');
      step += 1;
      // For instance a system prompt that fills the window by itself.
      const usage = { input: 120_000, output: 5 };
      return step < 6
        ? ({ ...callTool('read', { words: 5 }), usage } as ReturnType<typeof say>)
        : { kind: 'answer', text: 'done', usage };
    });
    const { events } = await run('go');
    expect(dataOf(events, 'context.compressed')).toHaveLength(1);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'done' }]);
  });

  it('gets a summary and both ends of its input if the input alone is too long', async () => {
    await given();
    server.behave((request) => say(isSummaryRequest(request) ? 'a long list of words' : 'done'));
    const { events } = await run(`Count these: ${words(9_000)} That was all.`);
    const input = dataOf(events, 'context.compressed')[0]?.input;
    expect(input).toMatch(
      /^Count these: word0 .*\[\.\.\. \d+ characters left out \.\.\.\].* That was all\.$/s,
    );
    expect(server.requests).toHaveLength(2);
    for (const request of server.requests) expect(tokens(request)).toBeLessThan(8_000);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'done', outcome: 'succeeded' }]);
  });
});

describe('a model that answers the request for a summary with nothing', () => {
  it('is asked again', async () => {
    await given();
    let empty = 1;
    server.behave((request) => {
      if (!isSummaryRequest(request)) return say('done');
      empty -= 1;
      return say(empty >= 0 ? ' ' : 'a long list of words');
    });
    const { events } = await run(`Count these: ${words(9_000)}`);
    expect(dataOf(events, 'context.compressed')).toMatchObject([{ summary: 'a long list of words' }]);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'done', outcome: 'succeeded' }]);
  });
});

describe('a model that refuses the conversation as too long', () => {
  it('is asked again with a summary of all steps', async () => {
    await given({}, 1_000_000);
    server.behave((request) => {
      if (isSummaryRequest(request)) return say('the summary');
      if (request.results.length === 2) return tooLong();
      return request.input.includes('the summary') ? say('done') : callTool('read', { words: 10 });
    });
    const { events } = await run('go');
    expect(dataOf(events, 'session.interim-status')).toMatchObject([{ kind: 'compression' }]);
    expect(server.requests.at(-1)?.results).toEqual([]);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'done', outcome: 'succeeded' }]);
  });

  it('gets less to summarise when that is too long as well', async () => {
    await given({}, 64_000);
    // Its window is a sixteenth of what the config says.
    server.behave((request) => {
      if (tokens(request) > 4_000) return tooLong();
      if (isSummaryRequest(request)) return say('the summary');
      return request.input.includes('the summary') ? say('done') : callTool('read', { words: 9_000 });
    });
    const { events } = await run('go');
    expect(summaries().length).toBeGreaterThan(1);
    expect(dataOf(events, 'session.interim-status')).toHaveLength(1);
    expect(dataOf(events, 'context.compressed')).toMatchObject([{ summary: 'the summary' }]);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'done', outcome: 'succeeded' }]);
  });

  it('gets a shorter input, if that alone is too long for a window that the config does not know', async () => {
    await given({}, 128_000);
    const llamaCpp = { kind: 'status', status: 500, body: 'Context size has been exceeded.' } as const;
    server.behave((request) => {
      if (tokens(request) > 3_000) return llamaCpp;
      return say(isSummaryRequest(request) ? 'the summary' : 'done');
    });
    const { events } = await run(`Count these: ${words(20_000)}`);
    expect(dataOf(events, 'context.compressed').length).toBeGreaterThan(0);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'done', outcome: 'succeeded' }]);
    expect(server.requests.at(-1)?.input).toMatch(/^Count these: word0 /);
  });

  it('is left in the end, if nothing makes the request short enough', async () => {
    await given({ agent: { system: words(3_000) } }, 128_000);
    server.behave((request) => (isSummaryRequest(request) ? say('the summary') : tooLong()));
    const { events } = await run(`Count these: ${words(20_000)}`);
    expect(dataOf(events, 'run.failed')).toMatchObject([{ code: 'models_failed' }]);
    expect(dataOf(events, 'context.compressed').length).toBeLessThan(10);
  });

  it('is left for the fallback when nothing is left to compress', async () => {
    await given({
      agent: { fallback_models: ['backup'] },
      models: { backup: { provider: 'openai-compatible', base_url: server.baseUrl, model: 'm2' } },
    });
    server.behave((request) => (request.body.model === 'm1' ? tooLong() : say('from the backup')));
    const { events } = await run('short');
    expect(dataOf(events, 'context.compressed')).toEqual([]);
    expect(dataOf(events, 'session.interim-status')).toMatchObject([{ kind: 'fallback' }]);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'from the backup' }]);
  });

  it('fails the run with one sentence when it is too long for all models', async () => {
    await given();
    server.behave(tooLong());
    const { events } = await run('short');
    expect(dataOf(events, 'run.failed')).toMatchObject([{ code: 'models_failed' }]);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ outcome: 'failed' }]);
    expect(JSON.stringify(dataOf(events, 'session.final-response'))).not.toContain('200001');
  });
});

describe('a run that is lost after it compressed', () => {
  it('is followed by one that continues from the summary and does not make it again', async () => {
    await given({ leaseSeconds: 1 });
    let steps = 0;
    server.behave((request) => {
      if (isSummaryRequest(request)) return say('the summary');
      if (request.input.includes('the summary')) return say('done', steps++ === 0 ? 60_000 : 0);
      return callTool('read', { words: 1_500 });
    });
    const id = await world.create('read');
    const dead = world.runner('dead');
    await dead.checkSession(id);
    await eventually(() => steps === 1);
    dead.cut();
    const other = world.runner('other');
    const events = await eventually(async () => {
      await other.checkSession(id);
      const now = await world.events(id);
      return now.some((event) => event.type === 'session.ended') && now;
    });
    expect(summaries()).toHaveLength(1);
    expect(dataOf(events, 'context.compressed')).toHaveLength(1);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'done', generation: 2 }]);
  });
});
