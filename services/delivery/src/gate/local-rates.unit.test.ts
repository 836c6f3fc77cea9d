import { describe, expect, it } from '@jest/globals';
import { LocalRates } from './local-rates.ts';

describe('a rate', () => {
  it('holds for any period, not for each tick of a clock', () => {
    const rates = new LocalRates();
    const rate = { sends: 2, seconds: 1 };
    for (const at of [900, 950]) {
      expect(rates.waitMs('chat', rate, at)).toBe(0);
      rates.spend('chat', rate, at);
    }
    expect(rates.waitMs('chat', rate, 1_000)).toBe(900);
    expect(rates.waitMs('chat', rate, 1_900)).toBe(0);
    rates.spend('chat', rate, 1_900);
    expect(rates.waitMs('chat', rate, 1_900)).toBe(50);
    expect(rates.waitMs('another', rate, 1_000)).toBe(0);
  });

  it('counts a turn in the future', () => {
    const rates = new LocalRates();
    const rate = { sends: 1, seconds: 1 };
    rates.spend('chat', rate, 0);
    rates.spend('chat', rate, 1_000);
    expect(rates.waitMs('chat', rate, 500)).toBe(1_500);
  });

  it('counts from when the request went out, if that was later', () => {
    const rates = new LocalRates();
    const rate = { sends: 1, seconds: 1 };
    rates.spend('chat', rate, 0);
    rates.sending('chat', 300);
    expect(rates.waitMs('chat', rate, 1_000)).toBe(300);
    rates.spend('chat', rate, 2_000);
    rates.sending('chat', 1_500);
    expect(rates.waitMs('chat', rate, 1_500)).toBe(1_500);
  });

  it('waits as long as the platform asked, if that is longer', () => {
    const rates = new LocalRates();
    rates.pause('chat', 5_000, 0);
    rates.pause('chat', 3_000, 0);
    expect(rates.waitMs('chat', undefined, 1_000)).toBe(4_000);
    expect(rates.waitMs('chat', { sends: 1, seconds: 1 }, 5_000)).toBe(0);
  });

  it('forgets what no longer matters, however many chats there were', () => {
    const rates = new LocalRates();
    const rate = { sends: 1, seconds: 1 };
    for (let n = 0; n < 5_000; n += 1) rates.spend(`chat ${n}`, rate, 0);
    rates.pause('flooded', 10_000_000, 0);
    rates.spend('later', rate, 1_000_000);
    expect(rates.waitMs('chat 1', rate, 0)).toBe(0);
    expect(rates.waitMs('flooded', rate, 1_000_000)).toBe(9_000_000);
    expect(rates.waitMs('later', rate, 1_000_000)).toBe(1_000);
  });
});
