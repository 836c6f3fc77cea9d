import { describe, expect, it } from '@jest/globals';
import { withPatience } from './commit-timeout.ts';

describe('patience with a commit', () => {
  it('hands on what comes in time, good or bad', async () => {
    await expect(withPatience(1_000, Promise.resolve('done'))).resolves.toBe('done');
    await expect(withPatience(1_000, Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  it('ends with an error that the sender is told to retry on', async () => {
    await expect(withPatience(5, new Promise(() => {}))).rejects.toMatchObject({ retryable: true });
    await expect(withPatience(5, new Promise(() => {}))).rejects.toMatchObject({
      code: 'commit_unknown',
      retryable: true,
    });
  });
});
