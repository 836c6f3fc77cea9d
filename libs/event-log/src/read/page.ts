import { InvalidCursor } from '../errors.ts';

export interface Page<T> {
  readonly items: T[];
  readonly nextCursor: string | null;
}

export interface Count {
  readonly count: number;
  /** False: there are at least so many. */
  readonly exact: boolean;
}

/** Counting so many takes 70 to 100 ms if no index answers it. A larger number would tell a person no more. */
export const MOST_COUNTED = 100_000;

export function toPage<Row, Item>(
  rows: readonly Row[],
  limit: number,
  toItem: (row: Row) => Item,
  placeOf: (item: Item) => readonly (string | number)[],
): Page<Item> {
  const items = rows.slice(0, limit).map(toItem);
  const last = items.at(-1);
  const more = rows.length > limit && last !== undefined;
  return {
    items,
    nextCursor: more ? encodeCursor(placeOf(last)) : null,
  };
}

export function encodeCursor(place: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** A cursor that we did not hand out is the caller's mistake (a 400), not an empty page. */
export function decodeCursor(
  cursor: string | undefined,
  length: number,
): readonly (string | number)[] | undefined {
  if (cursor === undefined) return undefined;
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    const [time, id, output] = Array.isArray(place) && place.length === length ? place : [];
    const valid = Number.isFinite(time) && typeof id === 'string' && (length < 3 || Number.isInteger(output));
    if (valid) return place as (string | number)[];
  } catch {
    // Not JSON: thrown below.
  }
  throw new InvalidCursor('the cursor is not one that this list returned: start again without it');
}
