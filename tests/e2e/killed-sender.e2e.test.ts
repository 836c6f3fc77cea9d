import {
  answer,
  eventually,
  type Sink,
  startSink,
  startTestStack,
  TEST_SINK_SECRET,
  type TestStack,
  testConfig,
} from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

// Invariant in-order-once where a crash leaves it unknown whether the platform took a message.

let sink: Sink;
let stack: TestStack;

beforeAll(async () => {
  sink = await startSink({ secret: TEST_SINK_SECRET });
  stack = await startTestStack({ config: testConfig({ sinkUrl: sink.url }) });
});

afterAll(async () => {
  await stack?.stop();
  await sink?.stop();
});

describe('delivery killed (-9) while a request is out', () => {
  it('sends it once more after the restart, marked and with the same id, and not after that', async () => {
    sink.behave({ kind: 'hang' });
    const { sessionId } = await stack.post({ body: { text: 'who took it?' } });
    await eventually(() => sink.received.length === 1);
    sink.behave(answer(200));
    const killed = stack.kill('delivery');
    await stack.restarted('delivery', killed);

    // Well before the claim of the dead one runs out: the new one has its name, and knows that it is gone.
    await stack.waitForEnd(sessionId, { settled: true, deadlineMs: 20_000 });
    const seen = sink.received.filter(({ payload }) => payload.session_id === sessionId);
    expect(seen.map(({ payload }) => payload.possible_duplicate)).toEqual([false, true]);
    expect(new Set(seen.map(({ webhookId }) => webhookId)).size).toBe(1);
    expect(seen.map(({ signature }) => signature)).toEqual(['valid', 'valid']);

    // Others were not touched by it.
    const next = await stack.post({ body: { text: 'and now?' } });
    await stack.waitForEnd(next.sessionId, { settled: true });
    expect(sink.received.filter(({ payload }) => payload.session_id === next.sessionId)).toHaveLength(1);
    expect(sink.received.filter(({ payload }) => payload.session_id === sessionId)).toHaveLength(2);
  });

  it('loses nothing under load', async () => {
    const posts = await Promise.all(
      Array.from({ length: 60 }, (_, n) => stack.post({ body: { text: `work ${n}` } })),
    );
    const before = sink.received.length;
    await eventually(() => sink.received.length > before);
    await stack.restarted('delivery', stack.kill('delivery'));
    for (const { sessionId } of posts) await stack.waitForEnd(sessionId, { settled: true });
    const copies = posts.map(({ sessionId }) =>
      sink.taken(sessionId).filter(({ payload }) => !payload.possible_duplicate),
    );
    // Unmarked at most once; one whose first copy was marked had a claim and, as it turned out, no request.
    expect(copies.filter((unmarked) => unmarked.length > 1)).toEqual([]);
    expect(posts.filter(({ sessionId }) => sink.taken(sessionId).length === 0)).toEqual([]);
    expect(posts.filter(({ sessionId }) => sink.taken(sessionId).length > 2)).toEqual([]);
  });
});
