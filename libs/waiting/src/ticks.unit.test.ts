import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { onTicks, untilTick } from './ticks.ts';

beforeEach(() => {
  jest.useFakeTimers();
  // To a tick of every period in use here.
  jest.advanceTimersByTime(10_000 - (performance.now() % 10_000));
});
afterEach(() => {
  jest.useRealTimers();
});

describe('the next tick', () => {
  it.each([
    [0, 1_000],
    [1, 999],
    [900, 100],
    [994, 6],
    [996, 1_004],
  ])('%d ms after one is %d ms away', (after, left) => {
    jest.advanceTimersByTime(after);
    expect(untilTick(1_000)).toBe(left);
  });

  it('of a period below the accuracy of timers is never further away than one and a half periods', () => {
    jest.advanceTimersByTime(3);
    expect(untilTick(4)).toBe(5);
  });
});

it('everything with one period happens at the same moments, whenever it began', () => {
  const at: Record<string, number[]> = { early: [], late: [] };
  const begun = performance.now();
  const note = (who: string) => () => void at[who]?.push(performance.now() - begun);
  const stops = [onTicks(1_000, note('early'))];
  jest.advanceTimersByTime(420);
  stops.push(onTicks(1_000, note('late')));
  jest.advanceTimersByTime(2_000);
  expect(at).toEqual({ early: [1_000, 2_000], late: [1_000, 2_000] });
  for (const stop of stops) stop();
  jest.advanceTimersByTime(5_000);
  expect(at.early).toHaveLength(2);
});
