import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { signedLinks } from './signed-links.ts';

const KEY = randomBytes(32).toString('base64');
const answers = signedLinks(KEY, 'answer');
const token = answers.token('0192aaaa-0000-7000-8000-000000000001', '12');

describe('a signed link', () => {
  it('returns its parts, and needs no encoding in a URL', () => {
    expect(answers.read(token)).toEqual(['0192aaaa-0000-7000-8000-000000000001', '12']);
    expect(encodeURIComponent(token)).toBe(token);
    // By default Fastify refuses a longer path segment.
    expect(token.length).toBeLessThan(100);
  });

  it('is always the same, on every replica', () => {
    const again = signedLinks(KEY, 'answer').token('0192aaaa-0000-7000-8000-000000000001', '12');
    expect(again).toBe(token);
  });

  it('is invalid for another purpose or with another key', () => {
    expect(signedLinks(KEY, 'callback').read(token)).toBeNull();
    expect(signedLinks(randomBytes(32).toString('base64'), 'answer').read(token)).toBeNull();
  });

  it('is invalid with any character changed, left out, or added', () => {
    for (let i = 0; i < token.length; i += 1) {
      const other = token[i] === 'A' ? 'B' : 'A';
      expect(answers.read(`${token.slice(0, i)}${other}${token.slice(i + 1)}`)).toBeNull();
      expect(answers.read(token.slice(0, i) + token.slice(i + 1))).toBeNull();
    }
    expect(answers.read(`${token}A`)).toBeNull();
    expect(answers.read(`${token}.`)).toBeNull();
  });

  it.each(['', '.', 'a', 'a.b', '.'.repeat(50), 'x'.repeat(100_000), '\u0000.é'])('%j is invalid', (text) => {
    expect(answers.read(text)).toBeNull();
  });

  it('refuses parts that could be read as several: ["a.b"] is not ["a", "b"]', () => {
    expect(() => answers.token('a.b')).toThrow('cannot be part of a link');
    expect(() => answers.token('a/b')).toThrow('cannot be part of a link');
    expect(() => answers.token('')).toThrow('cannot be part of a link');
  });
});
