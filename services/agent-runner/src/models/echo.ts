import { withoutFences } from '@angelia/session';
import type { Model, ModelReply, ModelRequest } from './model.ts';

/** It has no window: a number that no request reaches. */
const NO_WINDOW = Number.MAX_SAFE_INTEGER;

/** Answers with the turn's input. Needs no key and no network, and always gives the same answer: for demos, tests, benchmarks. */
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
  // People read the answer; fences around foreign text are only for models.
  return { text: withoutFences(input), toolCalls: [], finishReason: 'stop', usage };
}

/** Four characters per token, the usual rule of thumb, so that the demo's usage looks like a model's. */
function roughTokens(text: string): number {
  return Math.ceil(text.length / 4);
}
