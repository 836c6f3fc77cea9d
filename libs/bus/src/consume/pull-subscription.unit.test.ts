import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { untilExpiry } from './pull-subscription.ts';

beforeEach(() => {
  jest.useFakeTimers();
  jest.advanceTimersByTime(30_000 - (performance.now() % 30_000));
});
afterEach(() => {
  jest.useRealTimers();
});

it.each([
  [0, 30_000],
  [1, 29_999],
  [26_000, 4_000],
  [26_001, 33_999],
  [29_998, 30_002],
])(
  'requests expire at the same ticks, and never before their second heartbeat: %d ms after one',
  (after, left) => {
    jest.advanceTimersByTime(after);
    expect(untilExpiry(30_000, 2_000)).toBe(left);
  },
);

it('is a whole number of milliseconds, between two of which a clock may stand', () => {
  jest.useRealTimers();
  expect(untilExpiry(30_000, 2_000) % 1).toBe(0);
});
