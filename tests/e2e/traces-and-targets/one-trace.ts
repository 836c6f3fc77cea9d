import {
  answer,
  callTool,
  eventually,
  fail,
  type ModelServer,
  type ReceivedSpan,
  type Sink,
  startModelServer,
  startSink,
  TEST_SINK_SECRET,
  testRoute,
} from '@angelia/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addToStack, receiver, stack } from '../shared-stack.ts';

// Invariant one-trace, seen from outside: what a real OTLP endpoint receives for one POST.

let sink: Sink;
let model: ModelServer;
const MODEL_KEY = 'sk-key-of-the-model';

const services = (spans: readonly ReceivedSpan[]) => [...new Set(spans.map(({ service }) => service))].sort();

/** Sorted by name within a parent, and indented by depth. */
function tree(spans: readonly ReceivedSpan[], parent = '', depth = 0): string[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .flatMap((span) => {
      const error = span.status === 'error' ? ' (error)' : '';
      const line = `${'  '.repeat(depth)}${span.service.replace('angelia-', '')}: ${span.name}${error}`;
      return [[line, ...tree(spans, span.spanId, depth + 1)]];
    })
    .sort(([a = ''], [b = '']) => (a < b ? -1 : 1))
    .flat();
}

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

export function oneTrace(): void {
  addToStack(async () => {
    [sink, model] = await Promise.all([
      startSink({ secret: TEST_SINK_SECRET }),
      startModelServer({ apiKey: MODEL_KEY }),
    ]);
    const remote = { base_url: model.baseUrl, api_key: MODEL_KEY };
    return {
      models: {
        flaky: { provider: 'openai-compatible', model: 'm1', ...remote },
        sound: { provider: 'anthropic', model: 'm2', ...remote },
      },
      agents: {
        asking: { model: 'flaky', fallback_models: ['sound'] },
        limited: { model: 'flaky', toolsets: ['terminal'], max_steps: 1 },
        handy: { model: 'flaky', fallback_models: ['sound'], toolsets: ['terminal'] },
      },
      routes: {
        traced: testRoute(sink.url),
        open: testRoute(sink.url, { secret: 'INSECURE_NO_AUTH' }),
        asked: testRoute(sink.url, { agent: 'asking' }),
        worked: testRoute(sink.url, { agent: 'handy', interim: 'off' }),
        limited: testRoute(sink.url, { agent: 'limited', interim: 'off' }),
        burst: testRoute(sink.url, { coalesce: { key: '{pr}', window_seconds: 2 } }),
      },
      // The exporter's own delay is 5 s. The test does not wait that long.
      env: {
        OTEL_METRIC_EXPORT_INTERVAL: '500',
        OTEL_METRIC_EXPORT_TIMEOUT: '400',
      },
    };
  });

  afterAll(async () => {
    await Promise.all([sink?.stop(), model?.stop()]);
  });

  describe('one POST', () => {
    it('is one trace, from ingress to the delivery attempts, also with a retry', async () => {
      sink.next(answer(503));
      const { sessionId } = await stack.post({ route: 'traced', body: { text: 'trace me' } });
      const session = await stack.waitForEnd(sessionId, { settled: true });
      expect(session.trace_id).toMatch(/^[0-9a-f]{32}$/);

      const spans = await eventually(
        () => {
          const found = receiver.spansOf(session.trace_id);
          const attempts = found.filter(({ name }) => name === 'deliver http');
          return attempts.length === 2 && found.some(isRoot) && orphans(found).length === 0 && found;
        },
        {
          describe: () =>
            `two delivery spans in a whole trace: ${summary(receiver.spansOf(session.trace_id))}`,
        },
      );

      expect(services(spans)).toEqual(['angelia-agent-runner', 'angelia-delivery', 'angelia-ingress']);
      // One tree: every span except that of the request has its parent in the trace.
      expect(spans.filter(isRoot).map(({ service }) => service)).toEqual(['angelia-ingress']);
      const attempts = spans.filter(({ name }) => name === 'deliver http');
      expect(attempts.map(({ attributes }) => attributes['angelia.outcome']).sort()).toEqual([
        'retryable',
        'taken',
      ]);
      expect(attempts.map(({ service }) => service)).toEqual(['angelia-delivery', 'angelia-delivery']);
      expect(spans.some(({ name }) => name.startsWith('consume '))).toBe(true);
      // No other trace has a span of the session.
      const elsewhere = receiver.spans.filter(
        (span) => span.traceId !== session.trace_id && Object.values(span.attributes).includes(sessionId),
      );
      expect(elsewhere.map(({ name }) => name)).toEqual([]);
      expect(receiver.problems).toEqual([]);
    });

    it('carries its trace in the metadata of every event', async () => {
      const { sessionId } = await stack.post({ route: 'traced', body: { text: 'trace my events' } });
      const { trace_id: traceId } = await stack.waitForEnd(sessionId, { settled: true });
      const events = await stack.events(sessionId);
      expect(events.map(({ meta }) => String(meta.traceparent).split('-')[1])).toEqual(
        events.map(() => traceId),
      );
    });

    it('to the API has its SQL statements in its trace', async () => {
      await stack.adminGet('/v1/sessions?limit=1');
      await eventually(
        () => {
          const calls = receiver.spans.filter(({ name }) => name === 'GET /v1/sessions');
          return calls.some(({ traceId }) =>
            receiver.spansOf(traceId).some(({ name }) => name.startsWith('pg.query')),
          );
        },
        { describe: () => `a statement in the trace of a call: ${summary(receiver.spans)}` },
      );
    });

    it('continues the trace of its sender', async () => {
      const traceId = '0af7651916cd43dd8448eb211c80319c';
      const { sessionId } = await stack.post({
        route: 'traced',
        body: { text: 'mine' },
        headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` },
      });
      const session = await stack.waitForEnd(sessionId, { settled: true });
      expect(session.trace_id).toBe(traceId);
      await receiver.traceWith(traceId, ['deliver http']);
    });

    it('does not continue the trace of a stranger, and leaves no span in it', async () => {
      const traceId = '1af7651916cd43dd8448eb211c80319d';
      const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };
      // A refused webhook, and one on a route without authentication.
      const refused = await stack.post({ route: 'traced', body: { text: 'x' }, headers, secret: 'wrong' });
      expect(refused.status).toBe(401);
      const { sessionId } = await stack.post({ route: 'open', body: { text: 'x' }, headers });
      const session = await stack.waitForEnd(sessionId, { settled: true });
      expect(session.trace_id).toMatch(/^[0-9a-f]{32}$/);
      expect(session.trace_id).not.toBe(traceId);
      const spans = await receiver.traceWith(session.trace_id, ['deliver http', 'webhook open']);
      const posts = spans.filter(
        ({ service, name }) => service === 'angelia-ingress' && /^(POST|webhook) /.test(name),
      );
      expect(posts.map(({ name }) => name)).toEqual(['webhook open']);
      expect(receiver.spansOf(traceId)).toEqual([]);
    });

    it('puts no secret and no text of the session into a span', async () => {
      const { sessionId } = await stack.post({ route: 'traced', body: { text: 'a very private sentence' } });
      const session = await stack.waitForEnd(sessionId, { settled: true });
      await receiver.traceWith(session.trace_id, ['deliver http']);
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
    it('is a span by the GenAI conventions, also a failed one and its fallback, without the conversation', async () => {
      model.next(fail(400), {
        kind: 'answer',
        text: 'a private answer',
        usage: { input: 12, output: 7 },
      });
      const { sessionId } = await stack.post({ route: 'asked', body: { text: 'a private question' } });
      const session = await stack.waitForEnd(sessionId, { settled: true });
      const spans = await receiver.traceWith(session.trace_id, [
        'deliver http',
        'model m1',
        'model m2',
        'run asking',
      ]);
      const named = (name: string) => spans.find((span) => span.name === name);
      const agent = named('run asking');
      const where = { 'server.address': '127.0.0.1', 'server.port': Number(new URL(model.baseUrl).port) };
      expect(named('model m1')).toMatchObject({
        parentSpanId: agent?.spanId,
        status: 'error',
        attributes: { 'gen_ai.provider.name': 'openai-compatible', 'error.type': 'refused', ...where },
      });
      expect(named('model m2')).toMatchObject({
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

  describe('a session with every kind of step', () => {
    it('has its spans in one tree: which service did what, below which span', async () => {
      model.next(fail(400), callTool('terminal', { command: 'true' }), {
        kind: 'answer',
        text: 'done',
        usage: { input: 1, output: 1 },
      });
      sink.next(answer(503));
      const { sessionId } = await stack.post({ route: 'worked', body: { text: 'do it' } });
      const session = await stack.waitForEnd(sessionId, { settled: true });
      const spans = await eventually(
        () => {
          const found = receiver.spansOf(session.trace_id);
          const attempts = found.filter(({ name }) => name === 'deliver http');
          return attempts.length === 2 && found.some(isRoot) && orphans(found).length === 0 && found;
        },
        { describe: () => `a whole trace: ${summary(receiver.spansOf(session.trace_id))}` },
      );
      // Without the spans of log and bus.
      const story = tree(spans).filter((line) => !/(append|consume|pg|POST) ?/.test(line));
      expect(story).toEqual([
        'ingress: webhook worked',
        '  agent-runner: run handy',
        '    agent-runner: model m1 (error)',
        '    agent-runner: model m2',
        '    agent-runner: model m2',
        '    agent-runner: tool terminal',
        '    delivery: deliver http',
        '    delivery: deliver http (error)',
        '    process-watcher: carry out terminal',
      ]);
      expect(spans.flatMap(({ links }) => links)).toEqual([]);
    });

    it('is an error when it failed, also if no call failed, so that error sampling keeps it', async () => {
      model.next(callTool('terminal', { command: 'true' }));
      const { sessionId } = await stack.post({ route: 'limited', body: { text: 'too much' } });
      const session = await stack.waitForEnd(sessionId, { settled: true });
      expect(session.outcome).toBe('failed');
      const spans = await receiver.traceWith(session.trace_id, ['run limited', 'deliver http']);
      const errors = spans.filter(({ status }) => status === 'error');
      expect(errors.map(({ name }) => name)).toEqual(['run limited']);
    });

    it('is not hidden by unnamed calls and scrapes', async () => {
      for (const service of ['ingress', 'delivery'] as const) await stack.scrape(service);
      const { sessionId } = await stack.post({ route: 'traced', body: { text: 'x' } });
      await stack.waitForEnd(sessionId, { settled: true });
      await eventually(() => receiver.spans.some(({ name }) => name === 'GET /v1/sessions/{id}'));
      const gets = receiver.spans.filter(({ name }) => /^GET/.test(name)).map(({ name }) => name);
      expect(gets.filter((name) => !name.startsWith('GET /v1/'))).toEqual([]);
    });

    it('links a coalesced webhook and the session that took it in both directions', async () => {
      const posts = [];
      for (const n of [1, 2])
        posts.push(await stack.post({ route: 'burst', body: { pr: 7, text: `n${n}` } }));
      const [first, second] = posts;
      expect(second?.body.status).toBe('coalesced');
      const session = await stack.waitForEnd(first?.sessionId ?? '', { settled: true });
      const spans = await receiver.traceWith(session.trace_id, ['run default', 'webhook burst']);
      const linked = spans.filter(({ links }) => links.length > 0);
      expect(linked.map(({ name }) => name)).toEqual(['run default']);
      const other = await receiver.traceWith(linked[0]?.links[0]?.traceId ?? '', ['webhook burst']);
      const post = other.find(({ name }) => name === 'webhook burst');
      expect(post?.traceId).not.toBe(session.trace_id);
      expect(post?.links.map(({ traceId }) => traceId)).toEqual([session.trace_id]);
    });

    it('links a continuation to the session that it continues', async () => {
      const { sessionId } = await stack.post({ route: 'traced', body: { text: 'to be continued' } });
      const old = await stack.waitForEnd(sessionId, { settled: true });
      const response = await fetch(new URL(`/v1/sessions/${sessionId}/messages`, stack.baseUrl), {
        method: 'POST',
        headers: { authorization: `Bearer ${stack.adminToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ text: 'more' }),
      });
      const next = (await response.json()) as { session_id: string };
      const continued = await stack.waitForEnd(next.session_id, { settled: true });
      expect(continued.trace_id).not.toBe(old.trace_id);
      const spans = await eventually(
        () => {
          const found = receiver.spansOf(continued.trace_id);
          return found.some(({ links }) => links.length > 0) && found;
        },
        { describe: () => `a link: ${summary(receiver.spansOf(continued.trace_id))}` },
      );
      expect(spans.flatMap(({ links }) => links).map(({ traceId }) => traceId)).toEqual([old.trace_id]);
    });

    it('sends the metrics of /metrics over OTLP as well', async () => {
      const names = ['angelia.webhooks', 'angelia.relay_lag', 'angelia.time_to_delivered', 'process.cpu'];
      const sent = () =>
        names.filter((name) => receiver.bodies.some((body) => body.includes(`"name":"${name}"`)));
      await eventually(() => sent().length === names.length, {
        describe: () => `only ${sent()} of ${names}`,
      });
    });
  });
}
