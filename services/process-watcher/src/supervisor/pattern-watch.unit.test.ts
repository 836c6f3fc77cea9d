import { describe, expect, it } from '@jest/globals';
import { PatternWatch } from './pattern-watch.ts';

function watch(...patterns: string[]) {
  let now = 0;
  const watching = new PatternWatch(patterns, () => now);
  return {
    watching,
    later: (seconds: number) => {
      now += seconds * 1000;
    },
    take: (text: string) =>
      watching.take(Buffer.from(text)).map(({ pattern, line }) => `${pattern}: ${line}`),
  };
}

describe('watch patterns', () => {
  it('find a substring of a line, and return the whole line', () => {
    expect(watch('ready').take('one\nserver ready on 80\nthree\n')).toEqual(['ready: server ready on 80']);
  });

  it.each([1, 2, 3, 7])('find it even if the output comes in pieces of %d bytes', (size) => {
    const { watching } = watch('réady');
    const bytes = Buffer.from('one\nserver réady on 80\nthree\n');
    const found = [];
    for (let at = 0; at < bytes.length; at += size)
      found.push(...watching.take(bytes.subarray(at, at + size)));
    expect(found).toMatchObject([{ match: 1, pattern: 'réady', line: 'server réady on 80' }]);
  });

  it('do not match across two lines', () => {
    expect(watch('ab').take('xa\nbx\n')).toEqual([]);
  });

  it('find an unfinished line when nothing follows', () => {
    const { watching, take } = watch('Password:');
    expect(take('Password:')).toEqual([]);
    expect(watching.settle()).toMatchObject([{ line: 'Password:' }]);
    expect(watching.settle()).toEqual([]);
    expect(take(' ok\n')).toEqual([]);
  });

  it('find it in a line that is longer than what is kept', () => {
    const long = 'x'.repeat(10_000);
    const { take } = watch('needle');
    const found = [...take(long), ...take(`${long}nee`), ...take(`dle${long}`), ...take('\n')];
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(/needle/);
    expect(found[0]?.length).toBeLessThan(2_100);
  });

  it('make at most one notice in 15 s', () => {
    const { take, later } = watch('tick');
    expect(take('tick\ntick\n')).toHaveLength(1);
    later(14);
    expect(take('tick\n')).toHaveLength(0);
    later(2);
    expect(take('tick\n')).toHaveLength(1);
  });

  it('turn off with one last notice after three gaps in a row with further matches', () => {
    const { watching, take, later } = watch('tick');
    const overloads = [];
    for (let n = 0; n < 6; n += 1) {
      overloads.push(...watching.take(Buffer.from('tick\n')).map(({ overload }) => overload));
      take('tick\n');
      later(16);
    }
    expect(overloads).toEqual([false, false, false, true]);
    expect(watching.off).toBe(true);
  });

  it('turn off at once after a thousand matches within 15 s', () => {
    const { watching } = watch('tick');
    const found = watching.take(Buffer.from('tick\n'.repeat(5_000)));
    expect(found.map(({ match, overload }) => [match, overload])).toEqual([
      [1, false],
      [2, true],
    ]);
  });
});
