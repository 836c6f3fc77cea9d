import { describe, expect, it } from '@jest/globals';
import { inOneLine, notLookedUp, reasonOf } from './api-answer.ts';

describe("a platform's own words", () => {
  it('are one line without control characters, and not a page', () => {
    expect(inOneLine('Not\r\n  found\u001b[31m\u0000!')).toBe('Not found [31m !');
    expect(inOneLine('x'.repeat(5_000)).length).toBeLessThan(400);
    expect(inOneLine({ message: 'no text' })).toBe('');
    expect(inOneLine(`${'x'.repeat(299)}😀`).isWellFormed()).toBe(true);
  });

  it('follow the status and the origin, if there are any', () => {
    expect(reasonOf(403, 'https://example.com', 'locked')).toBe('http 403 from https://example.com: locked');
    expect(reasonOf(500, 'https://example.com', undefined)).toBe('http 500 from https://example.com');
  });
});

describe('a look-up without a list', () => {
  it('is made again, unless it was refused permanently', () => {
    expect(notLookedUp({ kind: 'retryable', reason: 'busy', retryAfterSeconds: 3, scope: 'chat' })).toEqual({
      kind: 'retryable',
      reason: 'busy',
      retryAfterSeconds: 3,
    });
    expect(notLookedUp({ kind: 'unknown', reason: 'cut' })).toEqual({ kind: 'retryable', reason: 'cut' });
    expect(notLookedUp({ kind: 'permanent', reason: 'no' })).toEqual({ kind: 'cannot-tell', reason: 'no' });
  });
});
