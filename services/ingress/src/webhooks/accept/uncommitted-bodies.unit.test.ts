import { describe, expect, it } from '@jest/globals';
import { Committing } from './uncommitted-bodies.ts';

describe('webhooks that wait for their commit', () => {
  it('are refused with 503 and Retry-After beyond so many bytes, and let in again as commits come', async () => {
    const committing = new Committing(100);
    const first = Promise.withResolvers<string>();
    const held = committing.hold(80, () => first.promise);
    await expect(committing.hold(30, async () => 'no')).rejects.toMatchObject({
      status: 503,
      code: 'overloaded',
      retryAfterSeconds: 5,
    });
    expect(await committing.hold(20, async () => 'fits')).toBe('fits');
    first.resolve('done');
    expect(await held).toBe('done');
    expect(await committing.hold(90, async () => 'now')).toBe('now');
  });

  it('give their place back also when the commit fails', async () => {
    const committing = new Committing(100);
    await expect(committing.hold(100, () => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect(await committing.hold(100, async () => 'in')).toBe('in');
  });

  it('are let in alone whatever their size', async () => {
    expect(await new Committing(100).hold(1_000, async () => 'in')).toBe('in');
  });
});
