import { describe, expect, it } from '@jest/globals';
import { replaceAny } from './replace-any.ts';

describe('replacing any of many texts', () => {
  it('replaces the first match, and the longest of those that start there', () => {
    const replace = replaceAny(['abcd', 'abcdef', 'cdefgh'], '*');
    expect(replace('abcdefgh')).toBe('*gh');
    expect(replace('xabcdxcdefghx')).toBe('x*x*x');
    expect(replace('abcabcabcd')).toBe('abcabc*');
    expect(replace('')).toBe('');
    expect(replace('abc')).toBe('abc');
  });

  it('changes nothing if there is nothing to search for', () => {
    expect(replaceAny([], '*')('text')).toBe('text');
  });

  it('finds the same as a search at every position', () => {
    const random = seeded(7);
    const made = (least: number, most: number) =>
      Array.from({ length: least + Math.floor(random() * (most - least + 1)) }, () =>
        ['a', 'b', 'é', '\ud83d'].at(Math.floor(random() * 4)),
      ).join('');
    for (let run = 0; run < 100; run += 1) {
      const texts = Array.from({ length: 1 + Math.floor(random() * 8) }, () => made(3, 9));
      const given = made(0, 60);
      expect(replaceAny(texts, '*')(given)).toBe(atEveryPlace(texts, given));
    }
  });

  it('looks at each position a bounded number of times', () => {
    // 200 texts that nearly match: a search that goes back would take long.
    const texts = Array.from({ length: 200 }, (_, n) => `${'a'.repeat(40)}${n}b`);
    const given = 'a'.repeat(100_000);
    expect(replaceAny(texts, '*')(given)).toBe(given);
  });
});

function atEveryPlace(texts: readonly string[], given: string): string {
  const ordered = [...texts].sort((a, b) => b.length - a.length);
  let out = '';
  for (let at = 0; at < given.length; ) {
    const found = ordered.find((one) => given.startsWith(one, at));
    out += found === undefined ? (given[at] ?? '') : '*';
    at += found?.length ?? 1;
  }
  return out;
}

/** From 0 to 1, the same in every run (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
