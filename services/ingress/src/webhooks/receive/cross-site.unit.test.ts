import { describe, expect, it } from '@jest/globals';
import { Refusal } from '../../http/refusal.ts';
import { refuseCrossSite } from './cross-site.ts';

const judged = (headers: Record<string, string>): string | number => {
  try {
    refuseCrossSite(headers);
    return 'taken';
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return `${error.status} ${error.code}`;
  }
};

describe('a route without a secret', () => {
  it.each([
    [{ host: '127.0.0.1:8644' }],
    [{ host: 'localhost:8644' }],
    [{ host: '[::1]:8644' }],
    [{ host: 'LOCALHOST' }],
    [{ host: 'angelia.localhost:8644' }],
    [{ host: '127.0.0.1:8644', origin: 'http://127.0.0.1:8644', 'sec-fetch-site': 'same-origin' }],
    [{ host: '127.0.0.1:8644', 'sec-fetch-site': 'none' }],
  ])('takes requests of a program or of our own page: %j', (headers) => {
    expect(judged(headers)).toBe('taken');
  });

  it.each([
    [{ host: '127.0.0.1:8644', origin: 'https://evil.example' }],
    [{ host: '127.0.0.1:8644', origin: 'null' }],
    [{ host: '127.0.0.1:8644', 'sec-fetch-site': 'cross-site' }],
    // Another port of this machine is another origin of the same site.
    [{ host: '127.0.0.1:8644', 'sec-fetch-site': 'same-site' }],
    [{ host: 'localhost:8644', origin: 'http://localhost:3000' }],
    [{ host: 'localhost:8644', origin: 'http://127.0.0.1:8644' }],
    // DNS rebinding: the page uses its own host name, so the origin matches.
    [{ host: 'evil.example:8644', origin: 'http://evil.example:8644', 'sec-fetch-site': 'same-origin' }],
    [{ host: '127.0.0.1.evil.example' }],
    [{ host: 'localhost.evil.example' }],
    [{ host: '192.0.2.7' }],
    [{ host: '' }],
    [{}],
  ])('refuses requests of a page of another origin: %j', (headers) => {
    expect(judged(headers as Record<string, string>)).toBe('403 cross_site');
  });

  it('names the host of the request, or says that there was none', () => {
    expect(() => refuseCrossSite({ host: 'evil.example' })).toThrow('names the host `evil.example`');
    expect(() => refuseCrossSite({})).toThrow('the request has no header `Host`: set a secret');
  });
});
