import { describe, expect, it } from '@jest/globals';
import { compilePattern, routePatternProblems } from './patterns.ts';

describe('a pattern', () => {
  it('is searched for anywhere in the text', () => {
    const pattern = compilePattern('lo[gn]+in');
    expect(pattern.ok && pattern.matches('the login page')).toBe(true);
    expect(pattern.ok && pattern.matches('the page')).toBe(false);
  });

  it.each(['(?=look)ahead', '(a)\\1', '(', '[a', 'a**', '(?<!b)a', 'a{2000}'])('is refused: %s', (source) => {
    expect(compilePattern(source)).toMatchObject({ ok: false, reason: expect.stringContaining('RE2') });
  });

  it('is refused if its repetitions make a large program', () => {
    expect(compilePattern('(x{1,100}){1,10}y')).toMatchObject({ ok: false });
  });

  it('is refused before it is compiled if it is long', () => {
    expect(compilePattern(`${'x'.repeat(5_000)}(`)).toMatchObject({
      ok: false,
      reason: expect.stringContaining('longer than'),
    });
  });

  it('finishes on a text that makes backtracking engines hang', () => {
    for (const source of [
      '(a+)+$',
      '(a|a)*b',
      '(a|aa)+b',
      '(.*a){12}b',
      '\\w+\\s?\\w+\\s?\\w+[0-9]{3,200}x',
    ]) {
      const pattern = compilePattern(source);
      if (!pattern.ok) throw new Error(pattern.reason);
      // With backtracking this would never finish on any machine. Here it takes 1 to 25 ms.
      expect(pattern.matches(`${'a'.repeat(16_383)}!`)).toBe(false);
    }
  });
});

describe('the patterns of a route', () => {
  const filters = (count: number, regex: string) =>
    Array.from({ length: count }, () => ({ not: { field: 'a', regex } }));

  it('may be many small ones, or a few large ones', () => {
    expect(routePatternProblems('f', filters(50, '^(opened|closed)$'))).toEqual([]);
    expect(routePatternProblems('f', filters(2, 'x{1,900}'))).toEqual([]);
  });

  it('are refused before any is compiled if they are too many, at the first one too many', () => {
    expect(routePatternProblems('f', [{ all: filters(1_661, '(') }])).toEqual([
      { place: 'f.0.all.50.not.regex', reason: expect.stringMatching(/1661 patterns.*at most 50/) },
    ]);
  });

  it('are refused if they are too long together: a class is a short program that compiles slowly', () => {
    expect(routePatternProblems('f', filters(50, `[${'ab'.repeat(400)}]`))).toEqual([
      { place: 'f.9.not.regex', reason: expect.stringContaining('8000 characters') },
    ]);
  });

  it('are refused if they are too large together, and the rest is not compiled', () => {
    expect(routePatternProblems('f', [...filters(5, 'x{1,900}'), ...filters(1, '(')])).toEqual([
      { place: 'f.2.not.regex', reason: expect.stringContaining('4000 instructions') },
    ]);
    expect(routePatternProblems('f', filters(50, 'x{1,999}x{1,999}'))).toHaveLength(2);
  });
});
