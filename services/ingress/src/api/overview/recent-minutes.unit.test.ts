import { describe, expect, it } from '@jest/globals';
import { RecentMinutes } from './recent-minutes.ts';

const MINUTE = 60_000;
const START = Date.parse('2026-11-18T10:00:00Z');

/** What happened by now, as the database has it. */
let happened: Map<number, number>;

/** As `GET /v1/overview` does. Returns the minutes, and from where on they were read. */
function look(recent: RecentMinutes, now: number, minutes = 60) {
  const since = (Math.floor(now / MINUTE) - minutes + 1) * MINUTE;
  const from = recent.from(since, now);
  const read = new Map(
    [...happened]
      .filter(([minute]) => minute >= from)
      .map(([minute, created]) => [
        minute,
        { created, ended: new Map(), delivered: 0, firstStatus: null, answered: null },
      ]),
  );
  const shown = recent.with({ minutes: read, minutesExact: true }, { since, from, now });
  return {
    created: new Map([...shown.minutes].map(([minute, { created }]) => [minute, created])),
    readMinutes: Math.round((Math.floor(now / MINUTE) * MINUTE - from) / MINUTE) + 1,
    exact: shown.minutesExact,
  };
}

describe('the minutes of the last hour', () => {
  it('are all read first, then only those in which something may still happen, and shown together', () => {
    happened = new Map(Array.from({ length: 60 }, (_, n) => [START + n * MINUTE, n + 1]));
    const recent = new RecentMinutes();
    const now = START + 59 * MINUTE + 30_000;
    expect(look(recent, now)).toMatchObject({ created: happened, readMinutes: 60 });
    happened.set(START + 59 * MINUTE, 500);
    expect(look(recent, now + 2_000)).toMatchObject({ created: happened, readMinutes: 1 });
  });

  it('the minute before is read again as long as the views may lack something of it', () => {
    happened = new Map([[START, 1]]);
    const recent = new RecentMinutes();
    look(recent, START + 50_000);
    happened.set(START, 7);
    const next = look(recent, START + MINUTE + 10_000);
    expect([next.readMinutes, next.created.get(START)]).toEqual([2, 7]);
    expect(look(recent, START + MINUTE + 20_000).readMinutes).toBe(1);
  });

  it('are all read again once a minute, so that erased sessions are gone', () => {
    happened = new Map([[START, 5]]);
    const recent = new RecentMinutes();
    look(recent, START + 5 * MINUTE);
    happened.set(START, 4);
    expect(look(recent, START + 5 * MINUTE + 59_000).created.get(START)).toBe(5);
    expect(look(recent, START + 6 * MINUTE).created.get(START)).toBe(4);
  });

  it('that are an hour old are forgotten', () => {
    happened = new Map([[START, 5]]);
    const recent = new RecentMinutes();
    look(recent, START + 59 * MINUTE + 30_000);
    expect(look(recent, START + 60 * MINUTE + 1_000).created.size).toBe(0);
  });

  it('are no more exact than the last time all of them were read', () => {
    happened = new Map();
    const recent = new RecentMinutes();
    const given = { since: START - 59 * MINUTE, from: START - 59 * MINUTE, now: START };
    recent.with({ minutes: new Map(), minutesExact: false }, given);
    expect(look(recent, START + 2_000).exact).toBe(false);
    expect(look(recent, START + 61_000).exact).toBe(true);
  });
});
