import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import {
  answer,
  callTool,
  eventually,
  fail,
  type ModelServer,
  type ReceivedSpan,
  type Sink,
  say,
  startModelServer,
  startSink,
  TEST_SINK_SECRET,
  testRoute,
} from '@angelia/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addToStack, receiver, stack } from '../shared-stack.ts';
import { isRoot, orphans, summary, tree, wholeTrace } from '../trace-tree.ts';

// Invariant one-trace, seen from outside: what a real OTLP endpoint receives for one POST.

let sink: Sink;
let model: ModelServer;
const MODEL_KEY = 'sk-key-of-the-model';

const services = (spans: readonly ReceivedSpan[]) => [...new Set(spans.map(({ service }) => service))].sort();

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
        curious: { model: 'flaky', toolsets: ['clarify', 'terminal'] },
      },
      routes: {
        traced: testRoute(sink.url),
        open: testRoute(sink.url, { secret: 'INSECURE_NO_AUTH' }),
        asked: testRoute(sink.url, { agent: 'asking' }),
        worked: testRoute(sink.url, { agent: 'handy', interim: 'off' }),
        limited: testRoute(sink.url, { agent: 'limited', interim: 'off' }),
        curious: testRoute(sink.url, { agent: 'curious', interim: 'off' }),
        // The payload has no address for the answer.
        nowhere: testRoute(sink.url, { deliver_extra: { url: '{missing.url}' } }),
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

      const spans = await wholeTrace(receiver, session.trace_id, {
        'invoke_agent default': 1,
        'deliver http': 2,
      });

      expect(services(spans)).toEqual(['angelia-agent-runner', 'angelia-delivery', 'angelia-ingress']);
      // One tree: every span except that of the request has its parent in the trace.
      const roots = spans.filter(isRoot);
      expect(roots.map(({ service }) => service)).toEqual(['angelia-ingress']);
      expect(roots[0]?.attributes).toMatchObject({
        'http.request.method': 'POST',
        'http.response.status_code': 202,
        'gen_ai.conversation.id': sessionId,
      });
      // One key for the session's id, in every span.
      expect(spans.map(({ attributes }) => attributes['gen_ai.conversation.id'])).toEqual(
        spans.map(() => sessionId),
      );
      for (const { attributes } of spans)
        expect(Object.entries(attributes).filter(([, value]) => value === sessionId)).toHaveLength(1);
      const attempts = spans.filter(({ name }) => name === 'deliver http');
      expect(attempts.map(({ attributes }) => attributes['angelia.outcome']).sort()).toEqual([
        'retryable',
        'taken',
      ]);
      expect(attempts.map(({ service }) => service)).toEqual(['angelia-delivery', 'angelia-delivery']);
      // How hints and events are carried is not shown unless asked for.
      const internals = receiver.spans.filter(({ name }) => /^(append|consume|pg)/.test(name));
      expect(internals.map(({ name }) => name)).toEqual([]);
      const failed = attempts.find(({ status }) => status === 'error');
      expect(failed?.attributes['error.type']).toBe('retryable');
      // The reason names the address of the target, and belongs into the event alone.
      expect(failed?.statusMessage).toBe('');
      expect(JSON.stringify(spans)).not.toContain(new URL(sink.url).host);
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

    it('says which replica of which version made a span', async () => {
      const { sessionId } = await stack.post({ route: 'traced', body: { text: 'who?' } });
      const { trace_id: traceId } = await stack.waitForEnd(sessionId, { settled: true });
      const spans = await wholeTrace(receiver, traceId, { 'invoke_agent default': 1, 'deliver http': 1 });
      const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
      for (const { resource, service } of spans) {
        expect(resource['service.version']).toBe(manifest.version);
        // As in the log lines.
        const log = readFileSync(join(stack.dataDir, `logs/${service.replace('angelia-', '')}.log`), 'utf8');
        expect(log).toContain(`"instance":"${resource['service.instance.id']}"`);
      }
    });

    it('that its sender got wrong has its status, and is no error of ours', async () => {
      const traceId = '2af7651916cd43dd8448eb211c80319e';
      const headers = {
        traceparent: `00-${traceId}-b7ad6b7169203331-01`,
        'content-type': 'application/json',
      };
      const refused = await stack.post({ route: 'nowhere', body: { text: 'x' }, headers });
      expect(refused.status).toBe(400);
      const [span] = await receiver.traceWith(traceId, ['webhook nowhere']);
      expect(span).toMatchObject({ status: 'unset', attributes: { 'http.response.status_code': 400 } });
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
        attributes: {
          'gen_ai.provider.name': 'openai-compatible',
          'error.type': '400',
          'gen_ai.response.finish_reasons': ['error'],
          ...where,
        },
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
      expect(agent).toMatchObject({
        status: 'unset',
        attributes: {
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.agent.name': 'asking',
          'gen_ai.provider.name': 'openai-compatible',
          'gen_ai.usage.input_tokens': 12,
          'gen_ai.usage.output_tokens': 7,
          'angelia.outcome': 'succeeded',
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
      const spans = await wholeTrace(receiver, session.trace_id, {
        'invoke_agent handy': 1,
        'deliver http': 2,
      });
      expect(tree(spans)).toEqual([
        'ingress: webhook worked',
        '  agent-runner: invoke_agent handy',
        '    agent-runner: chat m1 (error)',
        '    agent-runner: chat m2',
        '    agent-runner: chat m2',
        '    agent-runner: execute_tool terminal',
        '      process-watcher: carry out terminal',
        '  delivery: deliver http',
        '  delivery: deliver http (error)',
      ]);
      const named = (name: string) => spans.find((span) => span.name === name);
      expect(named('execute_tool terminal')?.attributes).toMatchObject({
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'terminal',
        'gen_ai.tool.type': 'function',
        'gen_ai.agent.name': 'handy',
      });
      const asked = spans.find(({ attributes }) =>
        String(attributes['gen_ai.response.finish_reasons']).includes('tool'),
      );
      expect(asked?.attributes['gen_ai.response.finish_reasons']).toEqual(['tool_call']);
      // The times of what the log tells are those of its events.
      const events = await stack.events(sessionId);
      const at = (type: string) => Date.parse(events.find((event) => event.type === type)?.recorded_at ?? '');
      expect(named('invoke_agent handy')?.startMs).toBeCloseTo(at('run.started'), -1);
      expect(named('invoke_agent handy')?.endMs).toBeCloseTo(at('session.ended'), -1);
      expect(named('execute_tool terminal')?.endMs).toBeCloseTo(at('tool.finished'), -1);
      expect(spans.flatMap(({ links }) => links)).toEqual([]);
    });

    it('is an error when it failed, also if no call failed, so that error sampling keeps it', async () => {
      model.next(callTool('terminal', { command: 'true' }));
      const { sessionId } = await stack.post({ route: 'limited', body: { text: 'too much' } });
      const session = await stack.waitForEnd(sessionId, { settled: true });
      expect(session.outcome).toBe('failed');
      const spans = await receiver.traceWith(session.trace_id, ['invoke_agent limited', 'deliver http']);
      const errors = spans.filter(({ status }) => status === 'error');
      expect(errors.map(({ name }) => name)).toEqual(['invoke_agent limited']);
      expect(errors[0]?.attributes['error.type']).toBe('max_steps');
    });

    it('shows how long it waited for a person and for a process', async () => {
      model.next(
        callTool('clarify', { question: 'Which one?' }),
        callTool('terminal', { command: 'read line; exit 7', background: true, notify_on_complete: true }),
        say('It runs.'),
        say('It is over.'),
      );
      const { sessionId } = await stack.post({ route: 'curious', body: { text: 'ask first' } });
      // Its output is delivered, too: a question that is answered before that is no longer sent.
      const waiting = async () => {
        const { status, deliveries } = await stack.session(sessionId);
        return status === 'waiting' && deliveries.pending === 0;
      };
      await eventually(waiting);
      await apiPost(`/v1/sessions/${sessionId}/messages`, { text: 'this one' });
      const [process_] = await eventually(async () => {
        const started = ((await stack.session(sessionId)).processes as { id: string }[]) ?? [];
        return started.length > 0 && (await waiting()) && started;
      });
      await apiPost(`/v1/processes/${process_?.id}/kill`, {});
      const session = await stack.waitForEnd(sessionId, { settled: true });
      const spans = await wholeTrace(receiver, session.trace_id, {
        'invoke_agent curious': 3,
        'deliver http': 3,
        'wait for person': 1,
        'wait for process': 1,
      });
      expect(tree(spans)).toEqual([
        'ingress: webhook curious',
        '  agent-runner: invoke_agent curious',
        '    agent-runner: chat m1',
        '  agent-runner: invoke_agent curious',
        '    agent-runner: chat m1',
        '  agent-runner: invoke_agent curious',
        '    agent-runner: chat m1',
        '    agent-runner: chat m1',
        '    agent-runner: execute_tool terminal',
        '      process-watcher: carry out terminal',
        '  delivery: deliver http',
        '  delivery: deliver http',
        '  delivery: deliver http',
        '  ingress: wait for person',
        '  process-watcher: wait for process',
      ]);
      const events = await stack.events(sessionId);
      const times = (type: string) =>
        events.filter((event) => event.type === type).map((event) => Date.parse(event.recorded_at));
      const person = spans.find(({ name }) => name === 'wait for person');
      expect([person?.startMs, person?.endMs]).toEqual([
        times('clarification.requested')[0],
        times('clarification.answered')[0],
      ]);
      expect(person?.attributes['angelia.ended_by']).toBe('clarification.answered');
      const process = spans.find(({ name }) => name === 'wait for process');
      expect([process?.startMs, process?.endMs]).toEqual([
        times('session.final-response')[0],
        times('process.exited')[0],
      ]);
      expect(noHoles(spans)).toEqual([]);
    });

    it('is not hidden by reads, probes and scrapes, which leave no trace', async () => {
      for (const service of ['ingress', 'delivery'] as const) await stack.scrape(service);
      await stack.adminGet('/v1/sessions?limit=1');
      const { sessionId } = await stack.post({ route: 'traced', body: { text: 'x' } });
      // The command line and the console read sessions and their events like this.
      await stack.waitForEnd(sessionId, { settled: true });
      await stack.events(sessionId);
      await apiPost(`/v1/sessions/${sessionId}/messages`, { text: 'a write' });
      await eventually(() => receiver.spans.some(({ name }) => name === 'POST /v1/sessions/{id}/messages'));
      expect(receiver.spans.filter(({ name }) => name.startsWith('GET')).map(({ name }) => name)).toEqual([]);
    });

    it('links a coalesced webhook and the session that took it in both directions', async () => {
      const posts = [];
      for (const n of [1, 2])
        posts.push(await stack.post({ route: 'burst', body: { pr: 7, text: `n${n}` } }));
      const [first, second] = posts;
      expect(second?.body.status).toBe('coalesced');
      const session = await stack.waitForEnd(first?.sessionId ?? '', { settled: true });
      const spans = await receiver.traceWith(session.trace_id, ['invoke_agent default', 'webhook burst']);
      const linked = spans.filter(({ links }) => links.length > 0);
      expect(linked.map(({ name }) => name)).toEqual(['invoke_agent default']);
      const other = await receiver.traceWith(linked[0]?.links[0]?.traceId ?? '', ['webhook burst']);
      const post = other.find(({ name }) => name === 'webhook burst');
      expect(post?.traceId).not.toBe(session.trace_id);
      expect(post?.links.map(({ traceId }) => traceId)).toEqual([session.trace_id]);
    });

    it('links a continuation to the session that it continues', async () => {
      const { sessionId } = await stack.post({ route: 'traced', body: { text: 'to be continued' } });
      const old = await stack.waitForEnd(sessionId, { settled: true });
      const next = await apiPost(`/v1/sessions/${sessionId}/messages`, { text: 'more' });
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
      const root = spans.find(isRoot);
      expect(root).toMatchObject({
        name: 'POST /v1/sessions/{id}/messages',
        attributes: { 'gen_ai.conversation.id': next.session_id, 'http.response.status_code': 202 },
      });
    });

    it('sends the metrics of /metrics over OTLP as well', async () => {
      const names = ['angelia.webhooks', 'angelia.relay_lag', 'angelia.time_to_delivered', 'process.cpu'];
      const sent = () =>
        names.filter((name) => receiver.bodies.some((body) => body.includes(`"name":"${name}"`)));
      await eventually(() => sent().length === names.length, {
        describe: () => `only ${sent()} of ${names}`,
      });
    });

    it('sends the metrics of the GenAI conventions, with their buckets and attributes', async () => {
      model.next(callTool('terminal', { command: 'true' }), {
        kind: 'answer',
        text: 'done',
        usage: { input: 70, output: 5 },
      });
      const { sessionId } = await stack.post({ route: 'worked', body: { text: 'count it' } });
      await stack.waitForEnd(sessionId, { settled: true });
      model.next(callTool('terminal', { command: 'true' }));
      const failed = await stack.post({ route: 'limited', body: { text: 'too much to count' } });
      await stack.waitForEnd(failed.sessionId, { settled: true });
      const port = Number(new URL(model.baseUrl).port);
      const call = {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai-compatible',
        'gen_ai.request.model': 'm1',
        'server.address': '127.0.0.1',
        'server.port': port,
      };
      const point = (name: string, attributes: Readonly<Record<string, unknown>>) =>
        eventually(
          () =>
            receiver
              .metrics(name)
              .flatMap(({ unit, points }) => points.map((one) => ({ unit, ...one })))
              .findLast((one) =>
                isDeepStrictEqual(attributes, pick(one.attributes, Object.keys(attributes))),
              ),
          {
            describe: () =>
              `${name} of ${JSON.stringify(attributes)}: ${JSON.stringify(receiver.metrics(name).at(-1))}`,
          },
        );
      const operation = await point('gen_ai.client.operation.duration', call);
      expect(operation).toMatchObject({
        unit: 's',
        bounds: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
      });
      const tokens = await point('gen_ai.client.token.usage', { ...call, 'gen_ai.token.type': 'input' });
      expect(tokens).toMatchObject({
        unit: '{token}',
        bounds: [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864],
      });
      const agent = await point('gen_ai.invoke_agent.duration', { 'gen_ai.agent.name': 'handy' });
      expect(agent).toMatchObject({
        unit: 's',
        bounds: [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6],
      });
      expect(agent.attributes).not.toHaveProperty('error.type');
      await point('gen_ai.invoke_agent.duration', {
        'gen_ai.agent.name': 'limited',
        'error.type': 'max_steps',
      });
      const tool = await point('gen_ai.execute_tool.duration', {
        'gen_ai.tool.name': 'terminal',
        'gen_ai.tool.type': 'function',
        'gen_ai.agent.name': 'handy',
      });
      expect(tool).toMatchObject({ unit: 's', bounds: operation.bounds });
    });
  });

  describe('of all these sessions', () => {
    it('no span has a parent that was not exported', async () => {
      // Senders' own spans are theirs.
      const foreign = 'b7ad6b7169203331';
      const missing = () => orphans(receiver.spans).filter(({ parentSpanId }) => parentSpanId !== foreign);
      await eventually(() => missing().length === 0, { describe: () => summary(missing()) });
    });
  });
}

async function apiPost(path: string, body: unknown): Promise<{ readonly session_id: string }> {
  const response = await fetch(new URL(path, stack.baseUrl), {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(202);
  return (await response.json()) as { readonly session_id: string };
}

function pick(from: Readonly<Record<string, unknown>>, keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(keys.map((key) => [key, from[key]]));
}

/** Times of more than a second, between the first and the last span, that no span covers. */
function noHoles(spans: readonly ReceivedSpan[]): number[] {
  const holes: number[] = [];
  let covered = Number.POSITIVE_INFINITY;
  for (const { startMs, endMs } of spans.toSorted((a, b) => a.startMs - b.startMs)) {
    if (startMs - covered > 1_000) holes.push(startMs - covered);
    covered = covered === Number.POSITIVE_INFINITY ? endMs : Math.max(covered, endMs);
  }
  return holes;
}
