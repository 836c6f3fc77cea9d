/** Ids of rows, or every session that matches the filters. */
export type Selection = ReadonlySet<string> | 'all';

/** With the other choice for one row. If all were selected, the other `rows` stay so: nobody has seen what is not loaded. */
export function toggled(
  selection: Selection,
  id: string,
  rows: readonly { readonly id: string }[],
): ReadonlySet<string> {
  const next = new Set(selection === 'all' ? rows.map((row) => row.id) : selection);
  if (!next.delete(id)) next.add(id);
  return next;
}
