interface Page<Item> {
  readonly items: readonly Item[];
  readonly next_cursor: string | null;
}

/** The items of all pages of a list. For lists of one session: they end. */
export async function everyPage<Item>(
  page: (cursor: { readonly cursor?: string }) => Promise<Page<Item>>,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  let next: string | null = null;
  do {
    const answer: Page<Item> = await page(next === null ? {} : { cursor: next });
    items.push(...answer.items);
    next = answer.next_cursor;
  } while (next !== null);
  return items;
}
