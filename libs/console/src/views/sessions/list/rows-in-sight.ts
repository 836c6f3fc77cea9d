/** The rows to draw: from `first` up to and without `end`. */
export interface Sight {
  readonly first: number;
  readonly end: number;
}

/** Rows above and below the screen that are drawn too, so that they are there when a wheel brings them in. */
const BESIDE = 10;
/** What is drawn changes in such steps, not with each row: a wheel then costs a drawing every few frames. */
const STEP = 5;

/** All rows have the same height, so their places follow from their numbers. Nothing is worked out or kept for each of 100,000. */
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

/** Where to scroll to so that a row is wholly in sight: not at all if it is. */
export function placeToShow(
  index: number,
  scroller: { readonly scrollTop: number; readonly clientHeight: number },
  height: number,
): number {
  const top = index * height;
  const lowest = top + height - scroller.clientHeight;
  return Math.min(top, Math.max(lowest, scroller.scrollTop));
}
