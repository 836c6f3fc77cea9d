import type { ToolCall } from '@angelia/contracts';
import type { Model, ModelReply, ModelRequest } from '../models/model.ts';

type Reply = ModelReply | ((request: ModelRequest, signal: AbortSignal) => ModelReply | Promise<ModelReply>);

/** A model that answers as the test says, for tests of the loop. The protocols have their own tests, with servers. */
export function scriptedModel() {
  const requests: ModelRequest[] = [];
  const queued: Reply[] = [];
  const model: Model = {
    name: 'main',
    provider: 'test',
    modelId: 'scripted',
    contextTokens: 128_000,
    server: null,
    async call(request, signal) {
      requests.push(request);
      const reply = queued.shift() ?? says('done');
      return typeof reply === 'function' ? reply(request, signal) : reply;
    },
  };
  return {
    model,
    requests,
    next: (...replies: Reply[]) => void queued.push(...replies),
    /** How many replies are left. */
    left: () => queued.length,
  };
}

export const says = (text: string, usage = { input_tokens: 1, output_tokens: 1 }): ModelReply => ({
  text,
  toolCalls: [],
  finishReason: 'stop',
  usage,
});

/** One step with these calls. `args` is an object, or the text that the model wrote. */
export const callsFor = (
  ...calls: { readonly name: string; readonly args?: unknown; readonly id?: string }[]
): ModelReply => ({
  text: '',
  toolCalls: calls.map(
    ({ name, args = {}, id }, index): ToolCall => ({
      id: id ?? `call_${index + 1}`,
      name,
      arguments: typeof args === 'string' ? args : JSON.stringify(args),
    }),
  ),
  finishReason: 'tool-calls',
  usage: { input_tokens: 1, output_tokens: 1 },
});

/** Never answers. Ends when it is aborted. */
export const hangs = (_request: ModelRequest, signal: AbortSignal): Promise<ModelReply> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
