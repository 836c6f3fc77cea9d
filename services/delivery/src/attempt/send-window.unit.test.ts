import type { Clock } from '@angelia/sessions';
import { describe, expect, it } from '@jest/globals';
import { claimTimes, openSendWindow, readClocks } from './send-window.ts';

function clockAt(start: number): Clock & { pass(ms: number, by?: 'both' | 'wall' | 'monotonic'): void } {
  let wall = start;
  let monotonic = 0;
  return {
    wall: () => wall,
    monotonic: () => monotonic,
    pass(ms, by = 'both') {
      if (by !== 'monotonic') wall += ms;
      if (by !== 'wall') monotonic += ms;
    },
  };
}

describe('the time that a claim leaves', () => {
  it('is longer than the request timeout, by a margin to begin and a margin to record', () => {
    expect(claimTimes(30)).toEqual({ requestMs: 30_000, beginWithinMs: 10_000, deadlineMs: 45_000 });
    for (const seconds of [0.1, 1, 5, 30, 300]) {
      const { requestMs, beginWithinMs, deadlineMs } = claimTimes(seconds);
      expect(beginWithinMs + requestMs).toBeLessThan(deadlineMs);
    }
  });

  it('lets a request begin soon after the claim', () => {
    const clock = clockAt(1_000_000);
    const window = openSendWindow(readClocks(clock), claimTimes(30), clock);
    clock.pass(9_000);
    expect(window.mayBegin()).toBe(true);
    window.close();
  });

  it.each(['both', 'wall', 'monotonic'] as const)(
    'lets no request begin after a freeze that shows on %s clocks',
    (by) => {
      const clock = clockAt(1_000_000);
      const window = openSendWindow(readClocks(clock), claimTimes(30), clock);
      clock.pass(11_000, by);
      expect(window.mayBegin()).toBe(false);
      expect(window.signal.aborted).toBe(false);
      window.close();
    },
  );
});
