import { describe, expect, it } from '@jest/globals';
import { editsBetween, suggest } from './suggest.ts';

describe('suggest', () => {
  it.each([
    ['sesions', 'sessions'],
    ['sessoins', 'sessions'],
    ['dead', 'dead-letters'],
    ['tial', 'tail'],
    ['lgos', 'logs'],
    ['xyz', null],
    ['a', null],
    ['', null],
  ])('%j is %j', (word, meant) => {
    expect(suggest(word, ['send', 'sessions', 'tail', 'logs', 'dead-letters', 'routes'])).toBe(meant);
  });

  it('counts two swapped neighbours as one edit', () => {
    expect(editsBetween('tial', 'tail')).toBe(1);
    expect(editsBetween('', 'abc')).toBe(3);
    expect(editsBetween('kitten', 'sitting')).toBe(3);
  });
});
