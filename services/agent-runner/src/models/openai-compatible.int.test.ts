import { eventually, fail, type ModelServer, say, startModelServer } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Model, ModelFailure } from './model.ts';
import { openAICompatibleModel } from './openai-compatible.ts';

const KEY = 'sk-very-secret-key';
const request = { system: 'You test.', messages: [{ role: 'user' as const, content: 'hello' }] };

let server: ModelServer;
let model: Model;
const never = new AbortController().signal;

beforeEach(async () => {
  server = await startModelServer({ apiKey: KEY });
  model = await openAICompatibleModel('main', {
    provider: 'openai-compatible',
    base_url: server.baseUrl,
    model: 'm1',
    api_key: KEY,
    timeout_seconds: 5,
    stall_seconds: 0.4,
  });
});
afterEach(async () => {
  expect(server.problems).toEqual([]);
  await server.stop();
});

const failureOf = async (call: Promise<unknown>): Promise<ModelFailure> => {
  const thrown = await call.then(
    () => new Error('it answered'),
    (error: unknown) => error,
  );
  if (!(thrown instanceof ModelFailure)) throw thrown;
  return thrown;
};

describe('an openai-compatible model', () => {
  it('is asked by the protocol, and its whole answer and usage come back', async () => {
    server.next({
      kind: 'answer',
      text: 'a long answer that comes in pieces',
      usage: { input: 12, output: 7 },
    });
    expect(await model.call(request, never)).toEqual({
      text: 'a long answer that comes in pieces',
      finishReason: 'stop',
      usage: { input_tokens: 12, output_tokens: 7 },
    });
    expect(server.requests[0]?.body).toMatchObject({
      model: 'm1',
      stream: true,
      messages: [
        { role: 'system', content: 'You test.' },
        { role: 'user', content: 'hello' },
      ],
    });
  });

  it.each([408, 409, 429, 500, 503])('may be tried again after %i', async (status) => {
    server.next(fail(status, '2'));
    expect(await failureOf(model.call(request, never))).toMatchObject({
      code: 'unavailable',
      retryable: true,
      retryAfterMs: 2_000,
    });
  });

  it('is not tried again after a request that it refuses', async () => {
    server.next(fail(400));
    expect(await failureOf(model.call(request, never))).toMatchObject({ code: 'refused', retryable: false });
  });

  it('may be tried again after a reset connection', async () => {
    server.next({ kind: 'reset' });
    expect(await failureOf(model.call(request, never))).toMatchObject({ code: 'connect', retryable: true });
  });

  it('does not pass off a part of an answer as the answer', async () => {
    server.next({ kind: 'cut-off', text: 'half of' });
    expect(await failureOf(model.call(request, never))).toMatchObject({ code: 'cut_off', retryable: true });
  });

  it.each([{ text: '' }, { text: 'a first token' }])(
    'is given up when it stalls ($text)',
    async ({ text }) => {
      server.next({ kind: 'stall', text });
      expect(await failureOf(model.call(request, never))).toMatchObject({ code: 'stall', retryable: true });
      await eventually(() => server.requests[0]?.aborted, { describe: 'the request was closed' });
    },
  );

  it('may be slow as long as tokens come', async () => {
    server.next({ kind: 'answer', text: 'x'.repeat(64), tokenDelayMs: 250 });
    expect((await model.call(request, never)).text).toHaveLength(64);
  });

  it('is hung up on when the run is aborted, with the reason of whoever aborted it', async () => {
    server.next(say('too late', 10_000));
    const abort = new AbortController();
    const call = model.call(request, abort.signal);
    await eventually(() => server.requests.length === 1);
    abort.abort('drain');
    await expect(call).rejects.toBe('drain');
    await eventually(() => server.requests[0]?.aborted, { describe: 'the request was closed' });
  });

  it('keeps the key out of what it says about a failure', async () => {
    server.next({ kind: 'status', status: 401, body: `Incorrect API key provided: ${KEY}` });
    const failure = await failureOf(model.call(request, never));
    expect(failure.message).toContain('Incorrect API key');
    expect(JSON.stringify(failure) + failure.message + failure.stack).not.toContain(KEY);
  });
});
