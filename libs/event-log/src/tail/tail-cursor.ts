/**
 * A place in the global order (epoch, tx, position). `tx` is a 64-bit transaction id, kept as text.
 * `position` alone is no order: transactions commit in another order than they took their positions.
 */
export interface TailCursor {
  readonly epoch: number;
  readonly tx: string;
  readonly position: number;
}

export const TAIL_START: TailCursor = { epoch: 0, tx: '0', position: 0 };
