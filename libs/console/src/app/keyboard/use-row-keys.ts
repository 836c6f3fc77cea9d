import type { RefObject } from 'react';
import { useHotkeys } from './use-hotkeys.ts';

interface RowCommands {
  /** `x` on the row with this `data-row`. */
  readonly select?: (row: string) => void;
  /** `r` on that row, or without one. */
  readonly retry?: (row: string | null) => unknown;
  /** `Escape` */
  readonly leave?: () => unknown;
}

/**
 * `j` and `k` go from row to row, `/` goes to the search, or to the first filter of a list without one. A row is an element with `data-row`; what takes the focus in it has
 * `data-row-focus` (a link opens by Enter without us).
 */
export function useRowKeys(
  list: RefObject<HTMLElement | null>,
  { select, retry, leave }: RowCommands = {},
): void {
  const rows = () => [...(list.current?.querySelectorAll<HTMLElement>('[data-row]') ?? [])];
  const currentIndex = (all: readonly HTMLElement[]) =>
    all.findIndex((row) => row.contains(document.activeElement));
  const current = () => {
    const all = rows();
    return all[currentIndex(all)]?.dataset.row ?? null;
  };
  const move = (by: 1 | -1) => {
    const all = rows();
    const index = currentIndex(all);
    const next = index === -1 ? all[by === 1 ? 0 : all.length - 1] : all[index + by];
    if (next === undefined) return false;
    const focused = next.matches('[data-row-focus]')
      ? next
      : next.querySelector<HTMLElement>('[data-row-focus]');
    focused?.focus({ preventScroll: true });
    next.scrollIntoView({ block: 'nearest' });
    return true;
  };
  useHotkeys({
    j: () => move(1),
    k: () => move(-1),
    '/': () => {
      const field =
        document.querySelector<HTMLElement>('main [data-search]') ??
        document.querySelector<HTMLElement>('main search :is(input, select)');
      field?.focus();
      return field !== null;
    },
    x: () => {
      const row = current();
      if (row === null || select === undefined) return false;
      return select(row);
    },
    r: () => (retry === undefined ? false : retry(current())),
    escape: () => (leave === undefined ? false : leave()),
  });
}
