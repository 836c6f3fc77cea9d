import { withoutFences } from '@angelia/session';
import type { Model, ModelReply, ModelRequest } from './model.ts';

/** It has no window; a number that no request comes near. */
const NO_WINDOW = Number.MAX_SAFE_INTEGER;

/** Answers with the turn's input. Needs no key and no network, and is the same every time: for demos, tests, benchmarks. */
export function echoModel(name: string): Model {
  return {
    name,
    provider: 'builtin',
    modelId: 'echo',
    contextTokens: NO_WINDOW,
    server: null,
    call: async (request) => echo(request),
  };
}

function echo(request: ModelRequest): ModelReply {
  const input = request.messages.findLast((message) => message.role === 'user')?.content ?? '';
  const tokens = roughTokens(input);
  const usage = { input_tokens: tokens, output_tokens: tokens };
  // People read it: the fences around foreign text are for models that heed them.
  return { text: withoutFences(input), toolCalls: [], finishReason: 'stop', usage };
}

/** Four characters a token, the usual rule of thumb: usage figures of the demo look like a model's. */
function roughTokens(text: string): number {
  return Math.ceil(text.length / 4);
}
