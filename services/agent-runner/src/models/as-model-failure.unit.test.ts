import { describe, expect, it } from '@jest/globals';
import { asModelFailure } from './as-model-failure.ts';
import { RefusedCall } from './call-errors.ts';

const refused = (status: number, message: string) =>
  asModelFailure(
    'main',
    (text) => text,
    new RefusedCall(message, { status, retryAfter: undefined, body: message }),
  );
const streamed = (error: object) => asModelFailure('main', (text) => text, error);

/** As the servers write them. */
describe('a request that does not fit in the window', () => {
  it.each([
    [
      'OpenAI',
      400,
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    ],
    ['Anthropic', 400, 'prompt is too long: 200001 tokens > 200000 maximum'],
    ['Anthropic', 400, 'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000'],
    ['Anthropic', 413, 'Request exceeds the maximum size'],
    ['llama.cpp', 400, 'the request exceeds the available context size, try increasing it'],
    ['llama.cpp', 500, 'Context size has been exceeded.'],
    ['Ollama', 400, 'the input length exceeds the context length'],
    ['Ollama', 500, 'the input length exceeds the context length'],
    [
      'Google',
      400,
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    ],
    ['xAI', 400, "This model's maximum prompt length is 131072 but the request contains 140000 tokens."],
    ['Bedrock', 400, 'Input is too long for requested model.'],
    ['Moonshot', 400, 'Invalid request: Your request exceeded model token limit: 8192'],
    ['TGI', 422, 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: 9000'],
    ['LM Studio', 400, 'Trying to keep the first 9000 tokens when context the overflows.'],
  ])('%s says so with %i: %s', (_server, status, message) => {
    expect(refused(status, message)).toMatchObject({ code: 'too_long', retryable: false });
  });

  it('llama.cpp says so in the middle of a stream', () => {
    const error = { code: 500, message: 'Context size has been exceeded.', type: 'server_error' };
    expect(streamed(error)).toMatchObject({ code: 'too_long', retryable: false });
  });

  it('is not what a limit of tokens per minute is about', () => {
    expect(refused(429, 'Rate limit reached. Your context window is fine.')).toMatchObject({
      code: 'unavailable',
      retryable: true,
    });
    expect(refused(500, 'internal error')).toMatchObject({ code: 'unavailable' });
    expect(refused(400, 'messages: at least one message is required')).toMatchObject({ code: 'refused' });
  });
});
