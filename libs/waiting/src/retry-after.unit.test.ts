import { describe, expect, it } from '@jest/globals';
import { parseRetryAfter } from './retry-after.ts';

const now = Date.parse('2026-01-01T00:00:00Z');

describe('Retry-After', () => {
  it.each([
    ['120', 120],
    [' 3 ', 3],
    ['0', 0],
    ['Thu, 01 Jan 2026 00:01:00 GMT', 60],
    ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
  ])('%s is %d seconds', (text, seconds) => expect(parseRetryAfter(text, now)).toBe(seconds));
  it.each([undefined, '', 'soon', '-5x'])('%s is none', (text) =>
    expect(parseRetryAfter(text, now)).toBeNull(),
  );
});
