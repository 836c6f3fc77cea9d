import type { EventData, SessionId } from '@angelia/contracts';
import { transcript } from '@angelia/session';
import { eventually, fail, type ModelServer, type ModelStep, say, startModelServer } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runnerFixture } from '../../testing/runner-fixture.ts';
import type { RunnerTool } from '../../tools/tool.ts';

/** The model server refuses a step that comes without the thoughts behind its calls, or with changed ones, as providers do. */

const look: RunnerTool = {
  name: 'look',
  by: 'runner',
  parallel: true,
  description: 'looks',
  parameters: { type: 'object' },
  check: () => null,
  run: async () => ({ outcome: 'ok', result: 'seen' }),
};

let server: ModelServer;
let world: Awaited<ReturnType<typeof runnerFixture>>;

beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  await world.stop();
  await server.stop();
});

const given = async (main: Record<string, unknown>, backup: Record<string, unknown> = main) => {
  const model = (over: Record<string, unknown>) => ({ base_url: server.baseUrl, api_key: 'k', ...over });
  world = await runnerFixture({
    models: { main: model({ model: 'm1', ...main }), backup: model({ model: 'm2', ...backup }) },
    agent: { toolsets: ['test'], fallback_models: ['backup'] },
    toolsets: { test: [look] },
  });
};

const ask = async (): Promise<SessionId> => {
  const id = await world.create('what is there?');
  await world.runner('r1').checkSession(id);
  await eventually(async () => (await world.types(id)).includes('session.ended'));
  return id;
};

const thinks = (
  thoughts: NonNullable<Extract<ModelStep, { kind: 'answer' }>['thoughts']>,
  text = '',
): ModelStep => ({
  kind: 'answer',
  text,
  thoughts,
  toolCalls: [
    { name: 'look', args: {} },
    { name: 'look', args: { at: 'both' } },
  ],
});

const endOf = async (id: SessionId) => (await world.events(id)).at(-1)?.data;
const stepsOf = async (id: SessionId) =>
  (await world.events(id))
    .filter(({ type }) => type === 'model.responded')
    .map(({ data }) => data as EventData<'model.responded'>);

const SECRET_THOUGHT = 'between us: \u0000 a thought of "some" length, with \ud800 in it';

describe.each([
  ['openai-compatible', { text: SECRET_THOUGHT }],
  ['openai-compatible', { signature: 'c2lnbmVk' }],
  ['anthropic', { text: SECRET_THOUGHT.replace(/\ud800/, '') }],
  ['anthropic', { text: 'thought', redacted: 'ZW5jcnlwdGVk' }],
])('a model of provider %s that thinks %j before a call', (provider, thoughts) => {
  it.each([true, false])('gets its thoughts back with the results (streaming: %s)', async (streaming) => {
    const reasoning = provider === 'anthropic' ? { reasoning: { budget_tokens: 2048 } } : {};
    await given({ provider, streaming, ...reasoning });
    server.next(thinks(thoughts), thinks(thoughts, 'Looking again.'), say('nothing'));
    const id = await ask();
    expect(server.problems).toEqual([]);
    expect(server.requests).toHaveLength(3);
    if (provider === 'anthropic') {
      const thinking = server.requests.map(({ raw }) => (raw as { thinking?: object }).thinking);
      expect(thinking).toEqual(Array(3).fill({ type: 'enabled', budget_tokens: 2048 }));
    }
    expect(await endOf(id)).toMatchObject({ outcome: 'succeeded' });
    expect((await stepsOf(id)).map(({ reasoning: kept }) => kept?.of)).toEqual([
      `${provider}/m1`,
      `${provider}/m1`,
      undefined,
    ]);
    const shown = JSON.stringify(transcript(await world.events(id)));
    for (const thought of Object.values(thoughts)) expect(shown).not.toContain(thought.slice(0, 8));
  });
});

it('another model gets no thoughts of the first, and a thinking one goes on without thinking', async () => {
  await given(
    { provider: 'openai-compatible' },
    { provider: 'anthropic', reasoning: { budget_tokens: 2048 } },
  );
  server.next(thinks({ text: 'a thought', signature: 's' }), fail(400), say('done by another'));
  const id = await ask();
  expect(server.problems).toEqual([]);
  expect(await endOf(id)).toMatchObject({ outcome: 'succeeded' });
  const last = server.requests.at(-1)?.raw as { model: string; thinking?: { type: string } };
  expect(last.model).toBe('m2');
  expect(last.thinking?.type).not.toBe('enabled');
  expect(JSON.stringify(last)).not.toContain('a thought');
});

it('the effort of the config is in the request', async () => {
  await given({ provider: 'openai-compatible', reasoning: { effort: 'low' } });
  await ask();
  expect(server.requests[0]?.raw).toMatchObject({ reasoning_effort: 'low' });
});

it('the effort and the budget for an Anthropic model are those that it takes', async () => {
  await given({ provider: 'anthropic', model: 'claude-sonnet-4-6', reasoning: { effort: 'low' } });
  await ask();
  expect(server.requests[0]?.raw).toMatchObject({
    thinking: { type: 'adaptive' },
    output_config: { effort: 'low' },
  });
});
