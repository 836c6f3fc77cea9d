import { expect, it } from '@jest/globals';
import { toLogHealth } from './health.ts';

it('a lag is 0 only if nothing waits: an event of this very moment is not nothing', () => {
  expect(toLogHealth([null, 0.2, 12.6, 3])).toEqual({
    tailLagMs: 0,
    relayLagMs: 1,
    projectionLagMs: 13,
    deadLetters: 3,
  });
  // The clock of Postgres was set back.
  expect(toLogHealth([-5, null, null, 0]).tailLagMs).toBe(1);
});
