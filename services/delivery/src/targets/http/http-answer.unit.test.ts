import { describe, expect, it } from '@jest/globals';
import { classifyAnswer, wordsOf } from './http-answer.ts';

const now = Date.parse('2026-01-01T00:00:00Z');
const answered = (status: number, { headers = {}, words = '' } = {}) =>
  classifyAnswer({ status, headers, words }, 'https://sink.example', now);
const kindOf = (status: number) => answered(status).kind;

describe('what a status code means for a delivery', () => {
  it.each([200, 201, 202, 204])('%i: taken', (status) => expect(kindOf(status)).toBe('taken'));
  it.each([408, 409, 425, 429, 500, 502, 503, 504, 599])('%i: worth another attempt', (status) =>
    expect(kindOf(status)).toBe('retryable'),
  );
  it.each([400, 401, 403, 404, 405, 410, 413, 415, 422, 451])('%i: no attempt will succeed', (status) =>
    expect(kindOf(status)).toBe('permanent'),
  );

  it('a redirect is not followed, and the reason names it without its path', () => {
    expect(
      answered(302, { headers: { location: '/elsewhere?token=abc' }, words: 'Moved to /elsewhere' }),
    ).toEqual({
      kind: 'permanent',
      reason:
        'http 302 from https://sink.example: redirects are not followed (it points to https://sink.example)',
    });
  });

  it('Retry-After counts on 429 and on 503', () => {
    for (const status of [429, 503]) {
      expect(answered(status, { headers: { 'retry-after': '7' } })).toMatchObject({
        kind: 'retryable',
        retryAfterSeconds: 7,
      });
    }
  });
});

describe("the receiver's own words", () => {
  const words = (body: string, type = 'application/json', scrub = (text: string) => text) =>
    wordsOf(body, { 'content-type': type }, scrub);

  it('follow the status, whether it is tried again or not', () => {
    const reason = 'from https://sink.example: this channel was archived';
    expect(answered(410, { words: 'this channel was archived' })).toMatchObject({
      reason: `http 410 ${reason}`,
    });
    expect(answered(503, { words: 'this channel was archived' })).toMatchObject({
      reason: `http 503 ${reason}`,
    });
  });

  it('are one line of at most 200 characters without control characters', () => {
    expect(words('{\r\n  "error": "gone\u0007"\n}')).toBe('{ "error": "gone " }');
    expect(words('x'.repeat(5_000))).toBe(`${'x'.repeat(200)}...`);
    expect(words(`${'x'.repeat(199)}😀`).isWellFormed()).toBe(true);
  });

  it('are the text of a page, without its markup', () => {
    const page = '<html><style>b { color: red }</style><body><h1>410</h1>\n<p>Gone &amp; lost</p></body>';
    expect(words(page, 'text/html; charset=utf-8')).toBe('410 Gone &amp; lost');
    expect(words(page, 'text/plain')).toContain('<h1>410</h1>');
  });

  it.each(['', ' \n', '{}', '[]', 'null', '""'])('are nothing if the answer is %j', (body) =>
    expect(words(body)).toBe(''),
  );

  it('hold no secret, not even half of one at the end', () => {
    const scrub = (text: string) => text.replaceAll('secret-of-ours', '[redacted]');
    expect(words(`${'x'.repeat(190)} secret-of-ours`, 'text/plain', scrub)).not.toContain('secret');
  });
});
