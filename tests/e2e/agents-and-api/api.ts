import {
  eventually,
  type ModelServer,
  type Sink,
  say,
  startModelServer,
  startSink,
  TEST_SINK_SECRET,
  testRoute,
} from '@angelia/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addToStack, modelAt, stack } from '../shared-stack.ts';

let sink: Sink;
let model: ModelServer;

async function post(path: string, body?: unknown): Promise<string> {
  const response = await fetch(new URL(path, stack.baseUrl), {
    method: 'POST',
    headers: {
      authorization: `Bearer ${stack.adminToken}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as { session_id: string };
  expect([path, response.status, answer]).toEqual([path, 202, { session_id: expect.any(String) }]);
  return answer.session_id;
}

interface Following {
  readonly seen: { readonly id: number; readonly type: string }[];
  /** Resolves when the server ends the stream. */
  readonly ended: Promise<void>;
}

async function follow(id: string, after?: number): Promise<Following> {
  const response = await fetch(new URL(`/v1/sessions/${id}/stream`, stack.baseUrl), {
    headers: {
      authorization: `Bearer ${stack.adminToken}`,
      ...(after === undefined ? {} : { 'last-event-id': String(after) }),
    },
  });
  expect(response.status).toBe(200);
  const seen: Following['seen'] = [];
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    let unread = '';
    for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
      const messages = (unread + decoder.decode(part, { stream: true })).split('\n\n');
      unread = messages.pop() ?? '';
      for (const message of messages) {
        const [, version, data] = /^id: (\d+)\ndata: (.*)$/s.exec(message) ?? [];
        if (data === undefined) continue;
        seen.push({ id: Number(version), type: (JSON.parse(data) as { type: string }).type });
      }
    }
  };
  return { seen, ended: read() };
}

export function api(): void {
  addToStack(async () => {
    [sink, model] = await Promise.all([startSink({ secret: TEST_SINK_SECRET }), startModelServer()]);
    return {
      models: { api: modelAt(model) },
      agents: { api: { kind: 'llm', model: 'api' } },
      routes: { api: testRoute(sink.url, { agent: 'api' }) },
    };
  });

  afterAll(async () => {
    expect(model?.problems).toEqual([]);
    await Promise.all([sink?.stop(), model?.stop()]);
  });

  describe('the stream of a session', () => {
    it('sends each step, also deliveries, and ends', async () => {
      model.next(say('the answer', 1_500));
      const { sessionId: id } = await stack.post({ route: 'api', body: { text: 'work' } });
      const stream = await follow(id);
      await stream.ended;
      expect(stream.seen.map(({ id: version }) => version)).toEqual(stream.seen.map((_, index) => index + 1));
      expect(stream.seen.map(({ type }) => type)).toEqual((await stack.events(id)).map(({ type }) => type));
      expect(stream.seen.at(-1)?.type).toBe('delivery.succeeded');
    });

    it('ends at once when ingress drains, and continues at the next ingress where it ended', async () => {
      const answered = Promise.withResolvers<void>();
      model.behave(async ({ input }) => {
        if (input === 'long work') await answered.promise;
        return say(`answer to: ${input}`);
      });
      const { sessionId: id } = await stack.post({ route: 'api', body: { text: 'long work' } });
      const first = await follow(id);
      await eventually(() => first.seen.some(({ type }) => type === 'run.started'));
      stack.kill('ingress', 'SIGTERM');
      // The session still has a long time to run.
      await first.ended;
      expect((await eventually(() => stack.session(id))).status).toBe('running');
      const second = await eventually(() => follow(id, first.seen.at(-1)?.id));
      answered.resolve();
      await second.ended;
      const versions = [...first.seen, ...second.seen].map(({ id: version }) => version);
      expect(versions).toEqual((await stack.events(id)).map(({ version }) => version));
    });
  });

  describe('messages', () => {
    it('queue behind the run, and after the end continue in a session that knows the whole conversation', async () => {
      model.next(say('first answer', 1_000));
      const { sessionId: id } = await stack.post({ route: 'api', body: { text: 'first' } });
      await eventually(() => model.requests.some(({ input }) => input === 'first'));
      expect(await post(`/v1/sessions/${id}/messages`, { text: 'second' })).toBe(id);
      await stack.waitForEnd(id, { settled: true });
      expect(sink.answersOf(id)).toEqual(['first answer', 'answer to: second']);

      const next = await post(`/v1/sessions/${id}/messages`, { text: 'third' });
      await stack.waitForEnd(next, { settled: true });
      expect(await stack.session(next)).toMatchObject({ continues: id, outcome: 'succeeded' });
      expect(sink.answersOf(next)).toEqual(['answer to: third']);
      const last = await post(`/v1/sessions/${id}/resume`);
      await stack.waitForEnd(last, { settled: true });
      expect(await stack.session(last)).toMatchObject({ continues: next, outcome: 'succeeded' });
      const { messages } = await stack.adminGet<{ messages: { role: string; content: string }[] }>(
        `/v1/sessions/${last}/transcript`,
      );
      expect(messages.slice(0, 6).map(({ role, content }) => `${role}: ${content}`)).toEqual([
        'user: first',
        'assistant: first answer',
        'user: second',
        'assistant: answer to: second',
        'user: third',
        'assistant: answer to: third',
      ]);
    });
  });
}
