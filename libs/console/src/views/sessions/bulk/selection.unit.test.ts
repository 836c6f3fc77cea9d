import { expect, it } from '@jest/globals';
import { toggled } from './selection.ts';

const rows = ['a', 'b', 'c'].map((id) => ({ id }));

it('a row is selected, and taken out again', () => {
  const one = toggled(new Set(), 'a', rows);
  expect(one).toEqual(new Set(['a']));
  expect(toggled(one, 'a', rows)).toEqual(new Set());
});

it('a row that is taken out of all leaves the others: it is not the one that is acted upon', () => {
  expect(toggled('all', 'b', rows)).toEqual(new Set(['a', 'c']));
});
