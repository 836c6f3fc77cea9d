import { describe, expect, it } from '@jest/globals';
import { DatabaseClock } from './database-clock.ts';

const HOUR = 3_600_000;
const LOG_TIME = 1_800_000_000_000;

/** This host is an hour ahead of the database. */
function host() {
  let wall = LOG_TIME + HOUR;
  let monotonic = 5_000;
  return {
    clock: { wall: () => wall, monotonic: () => monotonic },
    pass: (ms: number) => {
      wall += ms;
      monotonic += ms;
    },
    setTo: (ms: number) => {
      wall = ms;
    },
    suspend: (ms: number) => {
      wall += ms;
    },
  };
}

describe('the time of the database', () => {
  it('is not known before the database was asked, and then goes on from its answer', () => {
    const { clock, pass } = host();
    const log = new DatabaseClock(clock);
    expect(log.inDoubt).toBe(true);
    log.observe(LOG_TIME);
    pass(90_000);
    expect([log.now(), log.inDoubt]).toEqual([LOG_TIME + 90_000, false]);
  });

  it.each([-HOUR, HOUR])('does not follow a host clock that is set by %i ms, and is in doubt', (by) => {
    const { clock, pass, setTo } = host();
    const log = new DatabaseClock(clock);
    log.observe(LOG_TIME);
    setTo(clock.wall() + by);
    pass(1_000);
    expect([log.now(), log.inDoubt]).toEqual([LOG_TIME + 1_000, true]);
    log.observe(LOG_TIME + 1_000);
    expect(log.inDoubt).toBe(false);
  });

  it('is in doubt after the machine was suspended: the monotonic clock stood still', () => {
    const { clock, suspend } = host();
    const log = new DatabaseClock(clock);
    log.observe(LOG_TIME);
    suspend(8 * HOUR);
    expect(log.inDoubt).toBe(true);
  });

  it('is not in doubt because NTP makes the clock run a little faster', () => {
    const { clock, pass, setTo } = host();
    const log = new DatabaseClock(clock);
    log.observe(LOG_TIME);
    pass(600_000);
    setTo(clock.wall() + 300);
    expect(log.inDoubt).toBe(false);
  });
});
