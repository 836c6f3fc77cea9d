import { expect, it } from '@jest/globals';
import { toggled } from './selection.ts';

it('a row is selected, and taken out again', () => {
  const one = toggled(new Set(), 'a', ['a', 'b']);
  expect(one).toEqual(new Set(['a']));
  expect(toggled(one, 'a', ['a', 'b'])).toEqual(new Set());
});

it('a row that is taken out of all leaves the others: it is not the one that is acted upon', () => {
  expect(toggled('all', 'b', ['a', 'b', 'c'])).toEqual(new Set(['a', 'c']));
});
