import type { EventData, EventImage, SessionId } from '@angelia/contracts';
import { decide, transcript } from '@angelia/session';
import { callTools, eventually, fail, type ModelServer, say, startModelServer } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runnerFixture } from '../../testing/runner-fixture.ts';
import type { RunnerTool } from '../../tools/tool.ts';

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
let data: string;
const photo: RunnerTool = {
  name: 'photo',
  by: 'runner',
  parallel: true,
  description: 'takes a photo',
  parameters: { type: 'object' },
  check: () => null,
  run: async () => ({
    outcome: 'ok',
    result: '[image 1: image/png, 70 bytes]',
    images: [{ mimeType: 'image/png', data }],
  }),
};

let server: ModelServer;
let world: Awaited<ReturnType<typeof runnerFixture>>;

beforeEach(async () => {
  server = await startModelServer();
  data = PIXEL;
});
afterEach(async () => {
  await server.stop();
  await world.stop();
  expect(server.problems).toEqual([]);
});

const given = async (main: Record<string, unknown>) => {
  const model = { base_url: server.baseUrl, api_key: 'k' };
  world = await runnerFixture({
    models: {
      main: { model: 'm1', ...model, ...main },
      backup: { provider: 'openai-compatible', model: 'text-only', ...model },
    },
    agent: { toolsets: ['test', 'clarify'], fallback_models: ['backup'] },
    toolsets: { test: [photo] },
  });
};
const run = async (images: EventImage[] = []): Promise<SessionId> => {
  const id = await world.create('look', 'default', [], { images });
  await world.runner('a').checkSession(id);
  await eventually(async () => (await world.types(id)).includes('session.ended'));
  expect((await world.events(id)).at(-1)?.data).toMatchObject({ outcome: 'succeeded' });
  return id;
};
const asked = (at: number) => JSON.stringify(server.requests[at]?.raw);

describe.each(['openai-compatible', 'openai', 'anthropic'])(
  'an image that a tool returns to %s',
  (provider) => {
    it('reaches the model if it takes images, behind the results of the step', async () => {
      await given({ provider, images: true });
      server.next(callTools({ name: 'photo', args: {} }, { name: 'photo', args: {} }), say('two pixels'));
      const id = await run();
      expect(asked(1).split(PIXEL)).toHaveLength(3);
      const finished = (await world.events(id)).filter(({ type }) => type === 'tool.finished');
      expect(finished.map(({ data: event }) => (event as EventData<'tool.finished'>).images)).toEqual(
        Array(2).fill([{ mime_type: 'image/png', data: PIXEL }]),
      );
      expect(JSON.stringify(transcript(await world.events(id)))).not.toContain(PIXEL);
    });

    it('is a note to a model that takes none', async () => {
      await given({ provider });
      server.next(callTools({ name: 'photo', args: {} }), say('I cannot see it'));
      await run();
      expect(asked(1)).not.toContain(PIXEL);
      expect(asked(1)).toContain('[image 1: image/png, 70 bytes]');
      expect(asked(1)).toContain('You cannot see images');
    });
  },
);

describe.each(['openai-compatible', 'openai', 'anthropic'])('an image of a message, for %s', (provider) => {
  const image = { mime_type: 'image/png', data: PIXEL };

  it('reaches the model in each step of the turn, with the words of the user', async () => {
    await given({ provider, images: true });
    server.next(callTools({ name: 'photo', args: {} }), say('a pixel'));
    data = 'QUJD';
    const id = await run([image]);
    for (const step of [0, 1]) {
      expect(asked(step).split(PIXEL)).toHaveLength(2);
      const { messages = [] } = (server.requests[step]?.raw ?? {}) as { messages?: { role: string }[] };
      const first = messages.find(({ role }) => role === 'user');
      expect(JSON.stringify(first)).toContain(PIXEL);
      expect(JSON.stringify(first)).toContain('look');
    }
    expect(JSON.stringify(transcript(await world.events(id)))).not.toContain(PIXEL);
  });

  it('is a note to a model that takes none', async () => {
    await given({ provider });
    server.next(say('I cannot see it'));
    await run([image]);
    expect(asked(0)).not.toContain(PIXEL);
    expect(asked(0)).toContain('You cannot see images');
  });

  it('that answers a question reaches the model behind the answer', async () => {
    await given({ provider, images: true });
    server.next(callTools({ name: 'clarify', args: { question: 'Like what?' } }), say('I see'));
    const id = await world.create('look', 'default', [], { toolsets: ['clarify'] });
    await world.runner('a').checkSession(id);
    await eventually(async () => (await world.types(id)).includes('clarification.requested'));
    await world.sessions.execute(id, ({ state }) =>
      decide(state, {
        type: 'answer-clarification',
        clarificationId: state.clarification?.id ?? '',
        answer: 'like this',
        by: 'api',
        images: [image],
      }),
    );
    await world.runner('b').checkSession(id);
    await eventually(async () => (await world.types(id)).includes('session.ended'));
    expect(asked(0)).not.toContain(PIXEL);
    expect(asked(1).split(PIXEL)).toHaveLength(2);
  });
});

it('the next turn has only the name of an image that an earlier one had', async () => {
  await given({ provider: 'anthropic', images: true });
  server.next(say('a pixel'), say('as I said'));
  const id = await world.create('look', 'default', [], { images: [{ mime_type: 'image/png', data: PIXEL }] });
  await world.sessions.execute(id, ({ state }) =>
    decide(state, { type: 'request-turn', source: 'message', input: 'and now?', deliveryId: null }),
  );
  await world.runner('a').checkSession(id);
  await eventually(async () => (await world.types(id)).includes('session.ended'));
  expect([0, 1].map((at) => asked(at).includes(PIXEL))).toEqual([true, false]);
});

it('images of the message stay when there are too many of tools', async () => {
  await given({ provider: 'anthropic', images: true });
  data = 'A'.repeat(4 * 1024 * 1024);
  server.next(callTools(...Array.from({ length: 3 }, () => ({ name: 'photo', args: {} }))), say('many'));
  await run([{ mime_type: 'image/png', data: PIXEL }]);
  expect(asked(1).split(PIXEL)).toHaveLength(2);
  expect(asked(1).split(data)).toHaveLength(3);
  expect(asked(1).split('left out here')).toHaveLength(2);
});

it('a fallback model that takes no images is not given those of the model before it', async () => {
  await given({ provider: 'anthropic', images: true });
  server.next(callTools({ name: 'photo', args: {} }), fail(400), say('from the backup'));
  await run();
  expect(server.requests.at(-1)?.body.model).toBe('text-only');
  expect(asked(2)).toContain('You cannot see images');
});

it('older images of the turn are left out when there are too many, with a note', async () => {
  data = 'A'.repeat(4 * 1024 * 1024);
  await given({ provider: 'anthropic', images: true });
  const four = Array.from({ length: 4 }, () => ({ name: 'photo', args: {} }));
  server.next(callTools(...four), say('many'));
  await run();
  expect(asked(1).split(data)).toHaveLength(4);
  expect(asked(1).split('left out here')).toHaveLength(2);
});
