import { describe, expect, it } from '@jest/globals';
import { compilePattern, SEARCHED_CHARACTERS } from './patterns.ts';

describe('a pattern', () => {
  it('is searched for anywhere in the text', () => {
    const pattern = compilePattern('lo[gn]+in');
    expect(pattern.ok && pattern.matches('the login page')).toBe(true);
    expect(pattern.ok && pattern.matches('the page')).toBe(false);
  });

  it.each(['(?=look)ahead', '(a)\\1', '(', '[a', 'a**', '(?<!b)a', 'a{2000}'])('is refused: %s', (source) => {
    expect(compilePattern(source)).toMatchObject({ ok: false, reason: expect.stringContaining('RE2') });
  });

  it('is refused when its repetitions make a large program', () => {
    expect(compilePattern('(x{1,100}){1,10}y')).toMatchObject({ ok: false });
  });

  it('looks at the beginning of a long text only', () => {
    const pattern = compilePattern('needle');
    const hay = 'x'.repeat(SEARCHED_CHARACTERS);
    expect(pattern.ok && pattern.matches(`needle${hay}`)).toBe(true);
    expect(pattern.ok && pattern.matches(`${hay}needle`)).toBe(false);
  });

  it('takes no longer for a text that makes backtracking engines hang', () => {
    for (const source of [
      '(a+)+$',
      '(a|a)*b',
      '(a|aa)+b',
      '(.*a){12}b',
      '\\w+\\s?\\w+\\s?\\w+[0-9]{3,200}x',
    ]) {
      const pattern = compilePattern(source);
      if (!pattern.ok) throw new Error(pattern.reason);
      const begun = performance.now();
      expect(pattern.matches(`${'a'.repeat(SEARCHED_CHARACTERS - 1)}!`)).toBe(false);
      // Exponential is not a matter of the machine: the age of the universe against milliseconds (measured: 1 to 25).
      expect(performance.now() - begun).toBeLessThan(2_000);
    }
  });
});
