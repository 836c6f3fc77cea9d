import type { Lane, Statement } from '../connection/database.ts';
import type { TailCursor } from './tail-cursor.ts';

/** A new leader puts its epoch into the row first: from then on no write of an earlier leader changes it. */
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

/** null: somebody with a later epoch leads. */
export async function claimCheckpoint(
  lane: Lane,
  name: string,
  leadEpoch: number,
): Promise<TailCursor | null> {
  const row = (await lane.query(CLAIM, [name, leadEpoch]))[0];
  return row ? { epoch: row[0] as number, tx: row[1] as string, position: row[2] as number } : null;
}

/** false: somebody with a later epoch leads, and nothing was changed. */
export async function moveCheckpoint(
  lane: Lane,
  name: string,
  leadEpoch: number,
  to: TailCursor,
): Promise<boolean> {
  return (await lane.query(MOVE, [name, leadEpoch, to.epoch, to.tx, to.position])).length > 0;
}
