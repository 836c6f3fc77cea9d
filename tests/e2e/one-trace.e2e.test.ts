import {
  answer,
  eventually,
  fail,
  type ModelServer,
  type OtlpReceiver,
  type ReceivedSpan,
  type Sink,
  startModelServer,
  startOtlpReceiver,
  startSink,
  startTestStack,
  TEST_SINK_SECRET,
  type TestStack,
  testConfig,
  testRoute,
} from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

// Invariant one-trace, seen from outside: what a real OTLP endpoint receives for one POST.

let receiver: OtlpReceiver;
let sink: Sink;
let stack: TestStack;
let model: ModelServer;
const MODEL_KEY = 'sk-key-of-the-model';

beforeAll(async () => {
  [receiver, sink, model] = await Promise.all([
    startOtlpReceiver(),
    startSink({ secret: TEST_SINK_SECRET }),
    startModelServer({ apiKey: MODEL_KEY }),
  ]);
  const remote = { base_url: model.baseUrl, api_key: MODEL_KEY };
  stack = await startTestStack({
    config: testConfig({
      sinkUrl: sink.url,
      models: {
        flaky: { provider: 'openai-compatible', model: 'm1', ...remote },
        sound: { provider: 'anthropic', model: 'm2', ...remote },
      },
      agents: { asking: { model: 'flaky', fallback_models: ['sound'] } },
      routes: {
        open: testRoute(sink.url, { secret: 'INSECURE_NO_AUTH' }),
        asked: testRoute(sink.url, { agent: 'asking' }),
      },
    }),
    // The exporter's own patience is 5 s; the test need not wait for it.
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint, OTEL_BSP_SCHEDULE_DELAY: '200' },
  });
});

afterAll(async () => {
  await stack?.stop();
  await Promise.all([receiver?.stop(), sink?.stop(), model?.stop()]);
});

const services = (spans: readonly ReceivedSpan[]) => [...new Set(spans.map(({ service }) => service))].sort();

describe('one POST', () => {
  it('is one trace, from ingress to the delivery attempts, a retry included', async () => {
    sink.next(answer(503));
    const { sessionId } = await stack.post({ body: { text: 'trace me' } });
    const session = await stack.waitForEnd(sessionId, { settled: true });
    expect(session.trace_id).toMatch(/^[0-9a-f]{32}$/);

    const spans = await eventually(
      () => {
        const found = receiver.spansOf(session.trace_id);
        const attempts = found.filter(({ name }) => name === 'delivery');
        return attempts.length === 2 && found.some(isRoot) && orphans(found).length === 0 && found;
      },
      {
        describe: () => `two delivery spans in a whole trace: ${summary(receiver.spansOf(session.trace_id))}`,
      },
    );

    expect(services(spans)).toEqual(['angelia-agent-runner', 'angelia-delivery', 'angelia-ingress']);
    // One tree: everything but the request itself has its parent in the trace.
    expect(spans.filter(isRoot).map(({ service }) => service)).toEqual(['angelia-ingress']);
    const attempts = spans.filter(({ name }) => name === 'delivery');
    expect(attempts.map(({ attributes }) => attributes['angelia.outcome']).sort()).toEqual([
      'retryable',
      'taken',
    ]);
    expect(attempts.map(({ service }) => service)).toEqual(['angelia-delivery', 'angelia-delivery']);
    expect(spans.some(({ name }) => name.startsWith('consume '))).toBe(true);
    // And nothing of the session is in any other trace.
    const elsewhere = receiver.spans.filter(
      (span) => span.traceId !== session.trace_id && Object.values(span.attributes).includes(sessionId),
    );
    expect(elsewhere.map(({ name }) => name)).toEqual([]);
    expect(receiver.problems).toEqual([]);
  });

  it('carries its trace in the metadata of every event', async () => {
    const { sessionId } = await stack.post({ body: { text: 'trace my events' } });
    const { trace_id: traceId } = await stack.waitForEnd(sessionId, { settled: true });
    const events = await stack.events(sessionId);
    expect(events.map(({ meta }) => String(meta.traceparent).split('-')[1])).toEqual(
      events.map(() => traceId),
    );
  });

  it('goes on with the trace of its sender', async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const { sessionId } = await stack.post({
      body: { text: 'mine' },
      headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` },
    });
    const session = await stack.waitForEnd(sessionId, { settled: true });
    expect(session.trace_id).toBe(traceId);
    await receiver.traceWith(traceId, ['delivery']);
  });

  it('does not go on with the trace of a stranger, and leaves no span in it', async () => {
    const traceId = '1af7651916cd43dd8448eb211c80319d';
    const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };
    // Refused, and taken on a route that asks for no proof.
    const refused = await stack.post({ body: { text: 'x' }, headers, secret: 'wrong' });
    expect(refused.status).toBe(401);
    const { sessionId } = await stack.post({ route: 'open', body: { text: 'x' }, headers });
    const session = await stack.waitForEnd(sessionId, { settled: true });
    expect(session.trace_id).toMatch(/^[0-9a-f]{32}$/);
    expect(session.trace_id).not.toBe(traceId);
    const spans = await receiver.traceWith(session.trace_id, ['delivery', 'POST /webhooks/:route']);
    const posts = spans.filter(
      ({ service, name }) => service === 'angelia-ingress' && name.startsWith('POST'),
    );
    expect(posts.map(({ name }) => name)).toEqual(['POST /webhooks/:route']);
    expect(receiver.spansOf(traceId)).toEqual([]);
  });

  it('puts no secret and no text of the session into a span', async () => {
    const { sessionId } = await stack.post({ body: { text: 'a very private sentence' } });
    const session = await stack.waitForEnd(sessionId, { settled: true });
    await receiver.traceWith(session.trace_id, ['delivery']);
    const all = JSON.stringify(receiver.spans);
    for (const private_ of [
      'a very private sentence',
      TEST_SINK_SECRET.slice('whsec_'.length),
      stack.adminToken,
    ]) {
      expect(all).not.toContain(private_);
    }
  });
});

describe('a model call', () => {
  it('is a span by the GenAI conventions, a failed one and its fallback, without a word of what was said', async () => {
    model.next(fail(400), {
      kind: 'answer',
      text: 'a private answer',
      usage: { input: 12, output: 7 },
    });
    const { sessionId } = await stack.post({ route: 'asked', body: { text: 'a private question' } });
    const session = await stack.waitForEnd(sessionId, { settled: true });
    const spans = await receiver.traceWith(session.trace_id, [
      'delivery',
      'chat m1',
      'chat m2',
      'invoke_agent asking',
    ]);
    const named = (name: string) => spans.find((span) => span.name === name);
    const agent = named('invoke_agent asking');
    const where = { 'server.address': '127.0.0.1', 'server.port': Number(new URL(model.baseUrl).port) };
    expect(named('chat m1')).toMatchObject({
      parentSpanId: agent?.spanId,
      status: 'error',
      attributes: { 'gen_ai.provider.name': 'openai-compatible', 'error.type': 'refused', ...where },
    });
    expect(named('chat m2')).toMatchObject({
      parentSpanId: agent?.spanId,
      status: 'unset',
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'anthropic',
        'gen_ai.request.model': 'm2',
        'gen_ai.conversation.id': sessionId,
        'gen_ai.response.id': 'msg_test',
        'gen_ai.response.model': 'm2',
        'gen_ai.response.finish_reasons': ['stop'],
        'gen_ai.usage.input_tokens': 12,
        'gen_ai.usage.output_tokens': 7,
        ...where,
      },
    });
    expect(JSON.stringify(receiver.spans)).not.toMatch(
      /private (question|answer)|sk-key-of-the-model|scripted/,
    );
    expect(model.problems).toEqual([]);
  });
});

const isRoot = (span: ReceivedSpan) => span.parentSpanId === '';

function orphans(spans: readonly ReceivedSpan[]): ReceivedSpan[] {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  return spans.filter((span) => !isRoot(span) && !ids.has(span.parentSpanId));
}

function summary(spans: readonly ReceivedSpan[]): string {
  return spans
    .map(({ service, name, spanId, parentSpanId }) => `${service} ${name} ${parentSpanId}>${spanId}`)
    .join('\n');
}
