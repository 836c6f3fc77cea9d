import { describe, expect, it } from '@jest/globals';
import { UncommittedBodies, withCommitTimeout } from './commit-limits.ts';

describe('the time limit of a commit', () => {
  it('passes on what comes in time, a result or an error', async () => {
    await expect(withCommitTimeout(1_000, Promise.resolve('done'))).resolves.toBe('done');
    await expect(withCommitTimeout(1_000, Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  it('ends with an error that tells the sender to retry', async () => {
    await expect(withCommitTimeout(5, new Promise(() => {}))).rejects.toMatchObject({
      code: 'commit_unknown',
      retryable: true,
    });
  });
});

describe('webhooks that wait for their commit', () => {
  it('are refused with 503 and Retry-After beyond the cap, and let in again after commits', async () => {
    const uncommitted = new UncommittedBodies(100);
    const first = Promise.withResolvers<string>();
    const held = uncommitted.hold(80, () => first.promise);
    await expect(uncommitted.hold(30, async () => 'no')).rejects.toMatchObject({
      status: 503,
      code: 'overloaded',
      retryAfterSeconds: 5,
    });
    expect(await uncommitted.hold(20, async () => 'fits')).toBe('fits');
    first.resolve('done');
    expect(await held).toBe('done');
    expect(await uncommitted.hold(90, async () => 'now')).toBe('now');
  });

  it('release their bytes when the commit fails', async () => {
    const uncommitted = new UncommittedBodies(100);
    await expect(uncommitted.hold(100, () => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect(await uncommitted.hold(100, async () => 'in')).toBe('in');
  });

  it('are let in alone whatever their size', async () => {
    expect(await new UncommittedBodies(100).hold(1_000, async () => 'in')).toBe('in');
  });
});
