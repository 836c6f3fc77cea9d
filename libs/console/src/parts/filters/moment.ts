/** A time as people type it: `14:00` is today's (or yesterday's, if it is still to come), `2h` is how long ago. */
export const MOMENT_FORM = 'Give a time such as 14:00, 2h, 7d, 2026-11-18 or 2026-11-18 14:00.';

const AGO = /^[1-9][0-9]{0,5}[mhd]$/;
const CLOCK = /^([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]))?$/;
const DATE = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{1,2}:\d{2}(?::\d{2})?))?$/;
const DAY_MS = 86_400_000;

/**
 * What a list is asked with: `2h` as it is, everything else as an exact time, because an address that says `14:00` would mean
 * another time tomorrow. Null: not a time.
 */
export function momentOf(typed: string, now: number, zone: 'local' | 'utc'): string | null {
  const text = typed.trim().replace(/^since\s+/i, '');
  if (AGO.test(text)) return text;
  if (CLOCK.test(text)) {
    const today = atClock(dayOf(now, zone), text, zone);
    if (today === null) return null;
    return new Date(today > now ? today - DAY_MS : today).toISOString();
  }
  const [, year, month, day, clock = '0:00'] = DATE.exec(text) ?? [];
  if (year !== undefined) {
    const at = atClock([Number(year), Number(month) - 1, Number(day)], clock, zone);
    return at === null ? null : new Date(at).toISOString();
  }
  // With an offset of its own, as a log line has it.
  const exact = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}.*(?:Z|[+-]\d{2}:\d{2})$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  return Number.isNaN(exact) ? null : new Date(exact).toISOString();
}

type Day = readonly [year: number, month: number, day: number];

function dayOf(at: number, zone: 'local' | 'utc'): Day {
  const date = new Date(at);
  return zone === 'utc'
    ? [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
    : [date.getFullYear(), date.getMonth(), date.getDate()];
}

function atClock([year, month, day]: Day, clock: string, zone: 'local' | 'utc'): number | null {
  const [, hour, minute, second = '0'] = CLOCK.exec(clock) ?? [];
  if (hour === undefined || minute === undefined) return null;
  // A 31st of November is none, and there is no 13th month.
  if (month > 11 || new Date(Date.UTC(year, month, day)).getUTCDate() !== day) return null;
  const parts = [year, month, day, Number(hour), Number(minute), Number(second)] as const;
  return zone === 'utc' ? Date.UTC(...parts) : new Date(...parts).getTime();
}
