import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { signedLinks } from './signed-links.ts';

const KEY = randomBytes(32).toString('base64');
const answers = signedLinks(KEY, 'answer');
const token = answers.token('0192aaaa-0000-7000-8000-000000000001', '12');

describe('a signed link', () => {
  it('gives back what it was made of, and stands in a URL as it is', () => {
    expect(answers.read(token)).toEqual(['0192aaaa-0000-7000-8000-000000000001', '12']);
    expect(encodeURIComponent(token)).toBe(token);
    // Fastify refuses a longer part of a path by default.
    expect(token.length).toBeLessThan(100);
  });

  it('is the same however often it is made, on every replica', () => {
    const again = signedLinks(KEY, 'answer').token('0192aaaa-0000-7000-8000-000000000001', '12');
    expect(again).toBe(token);
  });

  it('is worth nothing for another purpose, or under another key', () => {
    expect(signedLinks(KEY, 'callback').read(token)).toBeNull();
    expect(signedLinks(randomBytes(32).toString('base64'), 'answer').read(token)).toBeNull();
  });

  it('is worth nothing with any of its characters changed, left out, or added', () => {
    for (let i = 0; i < token.length; i += 1) {
      const other = token[i] === 'A' ? 'B' : 'A';
      expect(answers.read(`${token.slice(0, i)}${other}${token.slice(i + 1)}`)).toBeNull();
      expect(answers.read(token.slice(0, i) + token.slice(i + 1))).toBeNull();
    }
    expect(answers.read(`${token}A`)).toBeNull();
    expect(answers.read(`${token}.`)).toBeNull();
  });

  it.each(['', '.', 'a', 'a.b', '.'.repeat(50), 'x'.repeat(100_000), '\u0000.é'])('%j is none', (text) => {
    expect(answers.read(text)).toBeNull();
  });

  it('tells ["a.b"] from ["a", "b"] by refusing what could be taken for several parts', () => {
    expect(() => answers.token('a.b')).toThrow('cannot be part of a link');
    expect(() => answers.token('a/b')).toThrow('cannot be part of a link');
    expect(() => answers.token('')).toThrow('cannot be part of a link');
  });
});
