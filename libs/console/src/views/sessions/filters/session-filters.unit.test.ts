import { describe, expect, it } from '@jest/globals';
import { parseSearch, stringifySearch } from '../../../app/search-params.ts';
import { filtersOf, hasFilters, searchFromUrl, withFilter } from './session-filters.ts';

describe('filters in the address', () => {
  it('come back as they were', () => {
    const search = {
      q: 'a&b=c #1 ü',
      outcome: 'failed',
      since: '2026-11-18T14:00:00Z',
      sort: 'oldest',
    } as const;
    expect(searchFromUrl(parseSearch(stringifySearch(search)))).toEqual(search);
  });

  it('are those of the API, readable and without what is not set', () => {
    expect(
      stringifySearch(searchFromUrl({ outcome: 'failed', since: '2h', route: 'github-pr', q: '' })),
    ).toBe('?outcome=failed&route=github-pr&since=2h');
    expect(stringifySearch({})).toBe('');
  });

  it('are left out when they mean nothing, and the rest still works', () => {
    expect(
      searchFromUrl({ status: 'done', outcome: 'failed', colour: 'red', sort: 'random', since: 7 }),
    ).toEqual({
      outcome: 'failed',
    });
  });

  it('keep a number as a text', () => {
    expect(searchFromUrl(parseSearch('?q=12345678&delivery_id=42'))).toEqual({ q: '12345678' });
    expect(searchFromUrl(parseSearch('?delivery_id=42'))).toEqual({ delivery_id: '42' });
  });

  it('change one at a time', () => {
    const search = withFilter({ outcome: 'failed', route: 'a' }, 'route', '');
    expect(search).toEqual({ outcome: 'failed' });
    expect(withFilter(search, 'sort', 'newest')).toEqual({ outcome: 'failed' });
    expect(withFilter(search, 'sort', 'oldest')).toEqual({ outcome: 'failed', sort: 'oldest' });
  });

  it('are what a job works on, without the order', () => {
    expect(filtersOf({ route: 'a', sort: 'oldest' })).toEqual({ route: 'a' });
    expect([hasFilters({ sort: 'oldest' }), hasFilters({ q: 'x' })]).toEqual([false, true]);
  });
});
