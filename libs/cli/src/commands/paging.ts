import type { Query } from '../api/client.ts';
import type { Page } from '../api/types.ts';
import type { Context, Option } from '../command-line/command.ts';

/** The API's limit. */
const LARGEST_PAGE = 200;

export const pagingOptions = {
  limit: { value: 'n', summary: `how many, up to ${LARGEST_PAGE} (50)` },
  cursor: { value: 'cursor', summary: '`next_cursor` of the previous page' },
  all: { summary: 'all pages' },
} as const satisfies Readonly<Record<string, Option>>;

/** One page, or with `--all` every page in one. */
export async function fetchPage<T>(
  { api, given }: Context,
  path: string,
  query: Query = {},
): Promise<Page<T>> {
  const client = api();
  const limit = given.number('limit', { from: 1, to: LARGEST_PAGE });
  const first = given.text('cursor');
  if (!given.switch('all')) return client.get<Page<T>>(path, { ...query, limit, cursor: first });
  const items: T[] = [];
  for (let cursor = first; ; ) {
    const page = await client.get<Page<T>>(path, { ...query, limit: limit ?? LARGEST_PAGE, cursor });
    items.push(...page.items);
    cursor = page.next_cursor;
    if (cursor === null) return { items, next_cursor: null };
  }
}

/** Tells the user how to get the next page. */
export function noteMore({ out }: Context, page: Page<unknown>): void {
  if (page.next_cursor !== null) out.note(`there are more: --cursor ${page.next_cursor}, or --all`);
}
