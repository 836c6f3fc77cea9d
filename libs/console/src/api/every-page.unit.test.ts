import { expect, it } from '@jest/globals';
import { everyPage } from './every-page.ts';

it('a list of several pages is read to its end, also past an empty page', async () => {
  const pages = new Map([
    [undefined, { items: [1, 2], next_cursor: 'b' }],
    ['b', { items: [], next_cursor: 'c' }],
    ['c', { items: [3], next_cursor: null }],
  ]);
  const page = async ({ cursor }: { cursor?: string }) =>
    pages.get(cursor) ?? { items: [], next_cursor: null };
  expect(await everyPage(page)).toEqual([1, 2, 3]);
});
