import type { TailCursor } from './tail.ts';

/** Negative: `a` comes first. */
export function compareCursors(a: TailCursor, b: TailCursor): number {
  return a.epoch - b.epoch || compareTx(a.tx, b.tx) || a.position - b.position;
}

/** Beyond 2^53, and without leading zeros. */
function compareTx(a: string, b: string): number {
  if (a === b) return 0;
  return a.length - b.length || (a < b ? -1 : 1);
}

/** `1-8412-90113`, for clients that continue where they were. */
export function cursorText({ epoch, tx, position }: TailCursor): string {
  return `${epoch}-${tx}-${position}`;
}

const CURSOR = /^(0|[1-9][0-9]{0,8})-(0|[1-9][0-9]{0,18})-(0|[1-9][0-9]{0,14})$/;

/** Null: not a cursor. */
export function parseCursor(text: string): TailCursor | null {
  const [, epoch, tx, position] = CURSOR.exec(text) ?? [];
  if (epoch === undefined || tx === undefined) return null;
  return { epoch: Number(epoch), tx, position: Number(position) };
}
