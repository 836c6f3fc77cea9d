import { fenced, fencedBlock } from '@angelia/session';
import { describe, expect, it } from '@jest/globals';
import { isRetryableStatus } from './as-model-failure.ts';
import { callWithRetry, nextTry } from './call-with-retry.ts';
import { echoModel } from './echo.ts';
import { type Model, ModelFailure } from './model.ts';

const busy = (retryAfterMs?: number) =>
  new ModelFailure('unavailable', 'busy', { retryable: true, retryAfterMs: retryAfterMs ?? null });
const refused = new ModelFailure('refused', 'bad request', { retryable: false });
const request = { system: '', messages: [{ role: 'user' as const, content: 'hello' }], tools: [] };
const never = new AbortController().signal;

function failing(...failures: Error[]): Model & { calls: number } {
  const model = {
    ...echoModel('m'),
    calls: 0,
    call: async () => {
      const failure = failures[model.calls++];
      if (failure) throw failure;
      return {
        text: 'done',
        toolCalls: [],
        finishReason: 'stop',
        usage: { input_tokens: 1, output_tokens: 1 },
      };
    },
  };
  return model;
}

describe('trying a model again', () => {
  it('waits longer each time, and stops after three tries', () => {
    expect(nextTry(busy(), 1, 0, 0)).toBe(250);
    expect(nextTry(busy(), 2, 0, 0)).toBe(500);
    expect(nextTry(busy(), 3, 0, 0)).toBe(null);
  });

  it('does what Retry-After says, unless that is later than the ten seconds a model has', () => {
    expect(nextTry(busy(4_000), 1, 0, 0)).toBe(4_000);
    expect(nextTry(busy(4_000), 2, 7_000, 0)).toBe(null);
    expect(nextTry(busy(60_000), 1, 0, 0)).toBe(null);
  });

  it('starts no try later than ten seconds after the first', () => {
    expect(nextTry(busy(), 1, 9_900, 0.99)).toBe(null);
  });

  it('does not repeat a request that the provider refuses', async () => {
    const model = failing(refused);
    await expect(callWithRetry(model, request, never)).rejects.toBe(refused);
    expect(model.calls).toBe(1);
  });

  it('answers when a later try does', async () => {
    const model = failing(busy());
    expect((await callWithRetry(model, request, never)).text).toBe('done');
    expect(model.calls).toBe(2);
  });

  it('gives the reason of the abort, also while it waits for the next try', async () => {
    const abort = new AbortController();
    const model = failing(busy(5_000));
    const call = callWithRetry(model, request, abort.signal);
    setImmediate(() => abort.abort('drain'));
    await expect(call).rejects.toBe('drain');
    expect(model.calls).toBe(1);
  });

  it('does not take a bug of ours for a failure of the model', async () => {
    const bug = new TypeError('x is not a function');
    const model = failing(bug);
    await expect(callWithRetry(model, request, never)).rejects.toBe(bug);
    expect(model.calls).toBe(1);
  });

  it('knows which statuses mean "not now"', () => {
    expect([408, 409, 429, 500, 503].map(isRetryableStatus)).toEqual([true, true, true, true, true]);
    expect([400, 401, 403, 404, 422].map(isRetryableStatus)).toEqual([false, false, false, false, false]);
  });
});

describe('the echo model', () => {
  it('answers with the input of the turn, the same every time', async () => {
    const messages = [
      { role: 'user' as const, content: 'first' },
      { role: 'assistant' as const, content: 'first', toolCalls: [] },
      { role: 'user' as const, content: 'second' },
    ];
    const replies = await Promise.all(
      [1, 2].map(() => echoModel('demo').call({ system: 's', messages, tools: [] }, never)),
    );
    expect(replies[0]).toEqual({
      text: 'second',
      toolCalls: [],
      finishReason: 'stop',
      usage: { input_tokens: 2, output_tokens: 2 },
    });
    expect(replies[1]).toEqual(replies[0]);
  });

  it('leaves out the fences around foreign text: people read it', async () => {
    const content = `Review: ${fenced('two words', '0123456789ab', 'sentence')}\n${fencedBlock('a\nb', '0123456789ab')}`;
    const request = { system: 's', messages: [{ role: 'user' as const, content }], tools: [] };
    expect((await echoModel('demo').call(request, never)).text).toBe('Review: two words\na\nb');
  });
});
