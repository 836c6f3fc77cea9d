import { describe, expect, it } from '@jest/globals';
import { CallFailure, isRetryableStatus, msToNextTry, retryCall } from './retry-call.ts';

class Failure extends CallFailure {
  readonly code = 'failed';
  readonly retryable: boolean;
  readonly retryAfterMs: number | null;
  readonly reason = 'unavailable';

  constructor(retryable: boolean, retryAfterMs: number | null = null) {
    super('failed');
    this.retryable = retryable;
    this.retryAfterMs = retryAfterMs;
  }
}
const busy = (retryAfterMs?: number) => new Failure(true, retryAfterMs);
const refused = new Failure(false);
const never = new AbortController().signal;

/** Fails with these, one after the other, then succeeds. */
function failing(...failures: Error[]) {
  const state = { calls: 0 };
  const call = async () => {
    const failure = failures[state.calls++];
    if (failure) throw failure;
    return 'done';
  };
  return Object.assign(call, { state });
}

describe('a call that fails', () => {
  it('waits longer before each try, and is tried three times', () => {
    expect(msToNextTry(busy(), 1, 0, 0)).toBe(250);
    expect(msToNextTry(busy(), 2, 0, 0)).toBe(500);
    expect(msToNextTry(busy(), 3, 0, 0)).toBe(null);
  });

  it('follows Retry-After, unless that is later than the ten seconds that it has', () => {
    expect(msToNextTry(busy(4_000), 1, 0, 0)).toBe(4_000);
    expect(msToNextTry(busy(4_000), 2, 7_000, 0)).toBe(null);
    expect(msToNextTry(busy(60_000), 1, 0, 0)).toBe(null);
  });

  it('starts no try later than ten seconds after the first', () => {
    expect(msToNextTry(busy(), 1, 9_900, 0.99)).toBe(null);
  });

  it('is not repeated when it was refused', async () => {
    const call = failing(refused);
    await expect(retryCall(call, never)).rejects.toBe(refused);
    expect(call.state.calls).toBe(1);
  });

  it('succeeds when a later try does, and tells of each failed one', async () => {
    const call = failing(busy());
    const failed: number[] = [];
    expect(await retryCall(call, never, (_failure, tries) => failed.push(tries))).toBe('done');
    expect(call.state.calls).toBe(2);
    expect(failed).toEqual([1]);
  });

  it('throws the reason of the abort, also while it waits for the next try', async () => {
    const abort = new AbortController();
    const call = failing(busy(5_000));
    const called = retryCall(call, abort.signal);
    setImmediate(() => abort.abort('drain'));
    await expect(called).rejects.toBe('drain');
    expect(call.state.calls).toBe(1);
  });

  it('is not repeated for a bug of ours', async () => {
    const bug = new TypeError('x is not a function');
    const call = failing(bug);
    await expect(retryCall(call, never)).rejects.toBe(bug);
    expect(call.state.calls).toBe(1);
  });
});

it('statuses that mean "not now" are told from refusals', () => {
  expect([408, 409, 429, 500, 503].map(isRetryableStatus)).toEqual([true, true, true, true, true]);
  expect([400, 401, 403, 404, 422].map(isRetryableStatus)).toEqual([false, false, false, false, false]);
});
