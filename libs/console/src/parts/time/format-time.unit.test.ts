import { describe, expect, it } from '@jest/globals';
import { duration, exactTime, relativeTime } from './format-time.ts';

const at = Date.parse('2026-11-18T14:05:09.120Z');

describe('a relative time', () => {
  it.each([
    [1_000, 'now'],
    [12_000, '12 s ago'],
    [200_000, '3 min ago'],
    [7_300_000, '2 h ago'],
    [5 * 86_400_000, '5 d ago'],
    [-65_000, 'in 1 min'],
  ])('%d ms later reads %s', (later, text) => {
    expect(relativeTime(at, at + later)).toBe(text);
  });

  it('gives the date when it is long ago', () => {
    expect(relativeTime(at, at + 90 * 86_400_000, 'utc')).toBe('2026-11-18');
  });
});

it.each([
  [0, '0 ms'],
  [850, '850 ms'],
  [1_290, '1.2 s'],
  [59_999, '59 s'],
  [200_000, '3 min 20 s'],
  [7_500_000, '2 h 5 min'],
  [100 * 3_600_000, '4 d 4 h'],
])('%d ms last %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});

it('an exact time names its zone', () => {
  expect(exactTime(at, 'utc')).toBe('2026-11-18 14:05:09.120 UTC');
  expect(exactTime(at, 'local')).toMatch(/^2026-11-1[789] \d\d:\d\d:09\.120 [+-]\d\d:\d\d$/);
  expect(exactTime(Number.NaN, 'utc')).toBe('unknown time');
});
