import {
  eventually,
  type ModelServer,
  type Sink,
  say,
  startModelServer,
  startSink,
  startTestStack,
  TEST_SINK_SECRET,
  type TestStack,
  testConfig,
} from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

// Scenario A4: the route is edited, then deleted, while the run goes on. Asserted on real sinks, as with `log` a
// silent downgrade would look like success.

let model: ModelServer;
let sink: Sink;
let otherSink: Sink;
let stack: TestStack;

beforeAll(async () => {
  [model, sink, otherSink] = await Promise.all([
    startModelServer(),
    startSink({ secret: TEST_SINK_SECRET }),
    startSink({ secret: TEST_SINK_SECRET }),
  ]);
  stack = await startTestStack({ config: testConfig({ sinkUrl: otherSink.url, modelUrl: model.baseUrl }) });
});

afterAll(async () => {
  await stack?.stop();
  await Promise.all([model?.stop(), sink?.stop(), otherSink?.stop()]);
});

async function change(method: 'PUT' | 'DELETE', name: string, body?: object) {
  const response = await fetch(new URL(`/v1/routes/${name}`, stack.baseUrl), {
    method,
    headers: {
      authorization: `Bearer ${stack.adminToken}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as { secret?: string } };
}

const toSink = (to: Sink) => ({ prompt: '{text}', deliver: 'http', deliver_extra: { url: to.url } });

describe('a route made by API', () => {
  it('that is edited, then deleted, while a run goes on: the answer goes where it was captured', async () => {
    const { secret } = (await change('PUT', 'a4', toSink(sink))).body;
    model.next(say('the answer', 1_500));
    const { status, sessionId } = await stack.post({
      route: 'a4',
      secret: secret as string,
      body: { text: 'hi' },
    });
    expect(status).toBe(202);
    await eventually(async () => (await stack.session(sessionId)).status === 'running');
    expect((await change('PUT', 'a4', toSink(otherSink))).status).toBe(200);
    expect((await change('DELETE', 'a4')).status).toBe(204);
    expect((await stack.session(sessionId)).status).toBe('running');

    const session = await stack.waitForEnd(sessionId, { settled: true });
    expect(session).toMatchObject({ outcome: 'succeeded', deliveries: { delivered: 1, dead: 0 } });
    expect(sink.received.map(({ payload }) => [payload.session_id, payload.text])).toEqual([
      [sessionId, 'the answer'],
    ]);
    expect(otherSink.received).toEqual([]);
  });

  it('is there after ingress was killed (-9), with the secret that was shown once', async () => {
    const { secret } = (await change('PUT', 'kept', toSink(sink))).body;
    await stack.restarted('ingress', stack.kill('ingress'));
    const answer = await eventually(async () => {
      const posted = await stack.post({ route: 'kept', secret: secret as string, body: { text: 'still' } });
      // 503: it does not say of a route that it cannot know yet that it is not there.
      expect([202, 503]).toContain(posted.status);
      return posted.status === 202 && posted;
    });
    await stack.waitForEnd(answer.sessionId, { settled: true });
    expect(sink.taken(answer.sessionId)).toHaveLength(1);
  });
});
