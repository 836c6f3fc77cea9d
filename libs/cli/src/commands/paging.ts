import type { Query } from '../api/client.ts';
import type { Page } from '../api/types.ts';
import type { Context, Option } from '../command-line/command.ts';

/** The API's limit. */
const LARGEST_PAGE = 200;
const USUAL_PAGE = 50;

export const pagingOptions = {
  limit: { value: 'n', summary: `how many, up to ${LARGEST_PAGE} (${USUAL_PAGE})` },
  cursor: { value: 'cursor', summary: '`next_cursor` of the previous page' },
  all: { summary: 'all pages' },
} as const satisfies Readonly<Record<string, Option>>;

/**
 * As many as asked for, or with `--all` everything. A page of the API can be short or empty and still have a next one: then
 * few rows of a long list fit the filter, and there are more to look at.
 */
export async function fetchPage<T>(
  { api, given }: Context,
  path: string,
  query: Query = {},
): Promise<Page<T>> {
  const client = api();
  const limit = given.number('limit', { from: 1, to: LARGEST_PAGE });
  const first = given.text('cursor');
  const wanted = given.switch('all') ? Number.POSITIVE_INFINITY : (limit ?? USUAL_PAGE);
  const items: T[] = [];
  for (let cursor = first; ; ) {
    const size = Math.min(wanted - items.length, limit ?? LARGEST_PAGE);
    const page = await client.get<Page<T>>(path, { ...query, limit: size, cursor });
    items.push(...page.items);
    cursor = page.next_cursor;
    if (cursor === null || items.length >= wanted) return { ...page, items };
  }
}

/** Tells the user that nothing was found, or how to get the next page. `what`: `such sessions`. */
export function noteMore({ out }: Context, page: Page<unknown>, what: string): void {
  if (page.items.length === 0) out.note(`there are no ${what}`);
  if (page.next_cursor !== null) out.note(`there are more: --cursor ${page.next_cursor}, or --all`);
}
