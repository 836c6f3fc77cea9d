import {
  callTool,
  type ModelServer,
  type Sink,
  say,
  startModelServer,
  startSink,
  TEST_SINK_SECRET,
  testRoute,
} from '@angelia/testkit';
import { afterAll, expect, it } from '@jest/globals';
import { addToStack, receiver, stack } from '../shared-stack.ts';

// Texts of a session are in its spans only by class, and only if the operator asks for them.

const MODEL_KEY = 'sk-key-of-the-captured-model';

let sink: Sink;
let model: ModelServer;

export function capturedContent(): void {
  addToStack(async () => {
    [sink, model] = await Promise.all([
      startSink({ secret: TEST_SINK_SECRET }),
      startModelServer({ apiKey: MODEL_KEY }),
    ]);
    return {
      models: {
        captured: {
          provider: 'openai-compatible',
          model: 'm1',
          base_url: model.baseUrl,
          api_key: MODEL_KEY,
        },
      },
      agents: { captured: { model: 'captured', toolsets: ['terminal'], system: 'the private instructions' } },
      routes: { captured: testRoute(sink.url, { agent: 'captured', interim: 'off' }) },
      env: { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'answers,tool_arguments' },
    };
  });

  afterAll(async () => {
    await Promise.all([sink?.stop(), model?.stop()]);
  });

  it('captures the classes that were asked for, without secrets, and no other', async () => {
    model.next(
      callTool('terminal', { command: 'echo the private result | rev' }),
      say(`the captured answer, with ${MODEL_KEY}`),
    );
    const traceId = '4af7651916cd43dd8448eb211c80319f';
    // Sampled by its sender, whatever the sampler of this stack says.
    const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };
    const body = { text: 'the private prompt' };
    const { sessionId } = await stack.post({ route: 'captured', body, headers });
    await stack.waitForEnd(sessionId, { settled: true });
    const names = ['deliver http', 'execute_tool terminal', 'invoke_agent captured', 'webhook captured'];
    const spans = await receiver.traceWith(traceId, names);
    const calls = spans
      .filter(({ name }) => name === 'chat m1')
      .toSorted((a, b) => a.startMs - b.startMs)
      .map(({ attributes }) => attributes);
    const asked = {
      role: 'assistant',
      parts: [{ type: 'tool_call', name: 'terminal', arguments: expect.stringContaining('| rev') }],
    };
    expect(JSON.parse(String(calls[0]?.['gen_ai.output.messages']))).toMatchObject([asked]);
    expect(calls[0]).not.toHaveProperty('gen_ai.input.messages');
    expect(JSON.parse(String(calls[1]?.['gen_ai.input.messages']))).toMatchObject([asked]);
    expect(JSON.parse(String(calls[1]?.['gen_ai.output.messages']))).toEqual([
      { role: 'assistant', parts: [{ type: 'text', content: 'the captured answer, with [redacted]' }] },
    ]);
    const tool = spans.find(({ name }) => name === 'execute_tool terminal')?.attributes;
    expect(JSON.parse(String(tool?.['gen_ai.tool.call.arguments']))).toEqual({
      command: 'echo the private result | rev',
    });
    expect(tool).not.toHaveProperty('gen_ai.tool.call.result');
    const all = JSON.stringify(spans);
    for (const text of ['the private prompt', 'the private instructions', 'tluser etavirp', MODEL_KEY])
      expect(all).not.toContain(text);
  });
}
