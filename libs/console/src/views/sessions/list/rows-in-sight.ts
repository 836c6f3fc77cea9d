/** The rows to draw: from `first` up to and without `end`. */
export interface Sight {
  readonly first: number;
  readonly end: number;
}

/** Rows above and below the screen that are drawn too, so that they are there when a wheel brings them in. */
const BESIDE = 10;
/**
 * The drawn rows change in steps of this size and not with each row, so a scroll wheel causes a render only every few frames.
 */
const STEP = 5;

/** All rows have the same height, so their places follow from their numbers. Nothing is computed or stored per row. */
export function rowsInSight(
  scroller: { readonly scrollTop: number; readonly clientHeight: number },
  rows: { readonly height: number; readonly count: number },
): Sight {
  const { height, count } = rows;
  // Shorter than before, the list may still be scrolled to what was its end.
  const top = Math.min(Math.max(0, scroller.scrollTop), Math.max(0, count * height - scroller.clientHeight));
  const first = Math.floor(top / height / STEP) * STEP - BESIDE;
  const end = Math.ceil((top + scroller.clientHeight) / height / STEP) * STEP + BESIDE;
  return { first: Math.max(0, first), end: Math.min(count, end) };
}

export const isSameSight = (a: Sight, b: Sight): boolean => a.first === b.first && a.end === b.end;

/** Where to scroll to so that a row is fully visible; unchanged if it already is. */
export function placeToShow(
  index: number,
  scroller: { readonly scrollTop: number; readonly clientHeight: number },
  height: number,
): number {
  const top = index * height;
  const lowest = top + height - scroller.clientHeight;
  return Math.min(top, Math.max(lowest, scroller.scrollTop));
}
