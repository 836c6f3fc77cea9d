/** Ids of rows, or every session that matches the filters. */
export type Selection = ReadonlySet<string> | 'all';

/** With the other choice for one row. If all were selected, those that are `loaded` stay so: nobody has seen the others. */
export function toggled(selection: Selection, id: string, loaded: readonly string[]): Selection {
  const next = new Set(selection === 'all' ? loaded : selection);
  if (!next.delete(id)) next.add(id);
  return next;
}
