import { describe, expect, it } from '@jest/globals';
import { classifyAnswer } from './http-answer.ts';

const now = Date.parse('2026-01-01T00:00:00Z');
const kindOf = (status: number) => classifyAnswer(status, {}, 'https://sink.example', now).kind;

describe('what a status code means for a delivery', () => {
  it.each([200, 201, 202, 204])('%i: taken', (status) => expect(kindOf(status)).toBe('taken'));
  it.each([408, 409, 425, 429, 500, 502, 503, 504, 599])('%i: worth another attempt', (status) =>
    expect(kindOf(status)).toBe('retryable'),
  );
  it.each([400, 401, 403, 404, 405, 410, 413, 415, 422, 451])('%i: no attempt will succeed', (status) =>
    expect(kindOf(status)).toBe('permanent'),
  );

  it('a redirect is not followed, and the reason names it without its path', () => {
    const result = classifyAnswer(302, { location: '/elsewhere?token=abc' }, 'https://sink.example', now);
    expect(result).toEqual({
      kind: 'permanent',
      reason:
        'http 302 from https://sink.example: redirects are not followed (it points to https://sink.example)',
    });
  });

  it('Retry-After counts on 429 and on 503', () => {
    for (const status of [429, 503]) {
      expect(classifyAnswer(status, { 'retry-after': '7' }, 'https://sink.example', now)).toMatchObject({
        kind: 'retryable',
        retryAfterSeconds: 7,
      });
    }
  });
});
