import { expect, it } from '@jest/globals';
import { lonePoints } from './lone-points.ts';

it('a minute between two without a figure is a point', () => {
  expect(lonePoints([null, 12, null, null])).toEqual([1]);
  expect(lonePoints([12, null, null, 0])).toEqual([0, 3]);
  expect(lonePoints([7])).toEqual([0]);
});

it('minutes beside each other are a line', () => {
  expect(lonePoints([null, 12, 14, null, 9, undefined])).toEqual([4]);
  expect(lonePoints([0, 0, 0])).toEqual([]);
  expect(lonePoints([null, null])).toEqual([]);
});
