/** Ids of rows, or every session that matches the filters. */
export type Selection = ReadonlySet<string> | 'all';

/**
 * With one row toggled. If all were selected, the other loaded `rows` stay selected, and rows that are not loaded do not,
 * because nobody has seen them.
 */
export function toggled(
  selection: Selection,
  id: string,
  rows: readonly { readonly id: string }[],
): ReadonlySet<string> {
  const next = new Set(selection === 'all' ? rows.map((row) => row.id) : selection);
  if (!next.delete(id)) next.add(id);
  return next;
}
