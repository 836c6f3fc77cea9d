import type { ConnectionPool, Statement } from '../connection/connection-pool.ts';
import { type TailCursor, toCursor } from './tail.ts';

/** A new leader puts its epoch into the row first. From then on no write of an earlier leader changes the row. */
const CLAIM: Statement = {
  name: 'claim_checkpoint',
  text: `UPDATE angelia.checkpoints SET lead_epoch = $2 WHERE name = $1 AND lead_epoch <= $2
         RETURNING epoch, tx::text, position`,
};
const MOVE: Statement = {
  name: 'move_checkpoint',
  text: `UPDATE angelia.checkpoints SET epoch = $3, tx = $4::text::xid8, position = $5
         WHERE name = $1 AND lead_epoch = $2 RETURNING 1`,
};

/** How far one led reader of the tail has come, as seen by one leader. */
export class Checkpoint {
  readonly #pool: ConnectionPool;
  readonly #name: string;
  readonly #leadEpoch: number;

  constructor(pool: ConnectionPool, name: string, leadEpoch: number) {
    this.#pool = pool;
    this.#name = name;
    this.#leadEpoch = leadEpoch;
  }

  /** Where to go on. Null: a process with a later epoch leads. */
  async claim(): Promise<TailCursor | null> {
    const row = (await this.#pool.query(CLAIM, [this.#name, this.#leadEpoch]))[0];
    return row === undefined ? null : toCursor(row);
  }

  /** False: a process with a later epoch leads, and nothing was changed. */
  async moveTo({ epoch, tx, position }: TailCursor): Promise<boolean> {
    return (await this.#pool.query(MOVE, [this.#name, this.#leadEpoch, epoch, tx, position])).length > 0;
  }
}
