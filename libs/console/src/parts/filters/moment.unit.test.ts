import { expect, it } from '@jest/globals';
import { momentOf } from './moment.ts';

const now = Date.parse('2026-11-18T15:30:00.000Z');

it.each([
  ['14:00', '2026-11-18T14:00:00.000Z'],
  ['since 14:00', '2026-11-18T14:00:00.000Z'],
  ['9:05', '2026-11-18T09:05:00.000Z'],
  ['2026-11-01', '2026-11-01T00:00:00.000Z'],
  ['2026-11-01 13:45', '2026-11-01T13:45:00.000Z'],
  ['2026-11-18T14:00:00+01:00', '2026-11-18T13:00:00.000Z'],
  ['2h', '2h'],
  ['15m', '15m'],
])('%s is a time', (typed, moment) => {
  expect(momentOf(typed, now, 'utc')).toBe(moment);
});

it('a clock time that is still to come is yesterday’s', () => {
  expect(momentOf('23:00', now, 'utc')).toBe('2026-11-17T23:00:00.000Z');
});

it('a time without a zone is of the zone that the page shows', () => {
  const local = new Date(2026, 10, 1, 13, 45).toISOString();
  expect(momentOf('2026-11-01 13:45', now, 'local')).toBe(local);
});

it.each(['', 'yesterday', '25:00', '2026-02-31', '2026-13-01', '14', '0h', '2 weeks'])(
  '%p is no time',
  (typed) => {
    expect(momentOf(typed, now, 'utc')).toBeNull();
  },
);
