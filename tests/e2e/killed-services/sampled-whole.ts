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
import { afterAll, expect, it } from '@jest/globals';
import { addToStack, modelAt, receiver, stack } from '../shared-stack.ts';
import { tree, wholeTrace } from '../trace-tree.ts';

// Head sampling by OTEL_TRACES_SAMPLER: the first span decides, and the session's traceparent carries the decision to all
// later services, also to the runner that takes over from a killed one. Jaeger has a whole session or nothing of it.

/** About half of them are sampled. All or none are sampled once in half a million runs. */
const SESSIONS = 20;

let sink: Sink;
let model: ModelServer;

export function sampledWhole(): void {
  addToStack(async () => {
    [sink, model] = await Promise.all([startSink({ secret: TEST_SINK_SECRET }), startModelServer()]);
    return {
      models: { sampled: modelAt(model) },
      agents: { sampled: { kind: 'llm', model: 'sampled' } },
      routes: { sampled: testRoute(sink.url, { agent: 'sampled' }) },
      env: {
        OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
        OTEL_TRACES_SAMPLER_ARG: '0.5',
      },
    };
  });

  afterAll(async () => {
    await Promise.all([sink?.stop(), model?.stop()]);
  });

  it('samples a whole session or nothing of it, also when its runner is killed', async () => {
    // The first runner gets no answers, the second gets them at once.
    model.behave({ kind: 'stall' });
    const ids: string[] = [];
    for (let n = 0; n < SESSIONS; n += 1) {
      ids.push((await stack.post({ route: 'sampled', body: { text: `n${n}` } })).sessionId);
    }
    const begun = async () =>
      (await Promise.all(ids.map((id) => stack.session(id)))).every(({ status }) => status === 'running');
    await eventually(begun, { describe: 'all sessions run' });
    const killed = stack.kill('agent-runner');
    model.behave(say('done'));
    await stack.restarted('agent-runner', killed);
    const sessions = await Promise.all(ids.map((id) => stack.waitForEnd(id, { settled: true })));

    const flags = await Promise.all(
      ids.map(async (id) => {
        const events = await stack.events(id);
        const seen = new Set(events.map(({ meta }) => String(meta.traceparent).split('-')[3]));
        expect(seen.size).toBe(1);
        return [...seen][0];
      }),
    );
    const sampled = sessions.filter((_, at) => flags[at] === '01');
    const left = sessions.filter((_, at) => flags[at] === '00');
    expect(sampled.length).toBeGreaterThan(0);
    expect(left.length).toBeGreaterThan(0);
    // The model call of the killed runner is lost with it. No other span is missing: its successor tells of its run.
    for (const { trace_id: traceId } of sampled) {
      const spans = await wholeTrace(receiver, traceId, { 'invoke_agent sampled': 2, 'deliver http': 1 });
      expect(tree(spans)).toEqual([
        'ingress: webhook sampled',
        '  agent-runner: invoke_agent sampled',
        '    agent-runner: chat m1',
        '  agent-runner: invoke_agent sampled (error)',
        '  delivery: deliver http',
      ]);
      const runs = spans.filter(({ name }) => name === 'invoke_agent sampled');
      expect(runs.map(({ attributes }) => attributes['angelia.resumed']).sort()).toEqual([false, true]);
    }
    for (const { trace_id: traceId } of left) expect(receiver.spansOf(traceId)).toEqual([]);
    expect(receiver.problems).toEqual([]);
  });
}
