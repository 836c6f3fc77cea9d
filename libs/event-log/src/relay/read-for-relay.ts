import type { ConnectionPool, Statement } from '../connection/connection-pool.ts';
import { IN_ORDER, IS_AFTER, IS_HINTED, IS_VISIBLE, type TailCursor, toCursor } from '../tail/tail.ts';

/** What the relay needs of an event. It reads every hinted one, so each column counts. */
export interface RelayEvent {
  readonly cursor: TailCursor;
  readonly position: number;
  readonly streamId: string;
  readonly version: number;
  readonly type: string;
  readonly eventId: string;
  readonly traceparent: string | null;
  /** False: an older transaction is still open, so the event's place in the order is not decided yet. */
  readonly visible: boolean;
  readonly hinted: boolean;
}

const COLUMNS = `e.epoch, e.tx::text, e.position, e.stream_id, e.version, e.type, e.event_id, e.meta ->> 'traceparent',
  ${IS_VISIBLE}, ${IS_HINTED}`;
const HINTED: Statement = {
  name: 'tail_ahead',
  text: `SELECT ${COLUMNS} FROM angelia.events e WHERE ${IS_AFTER} AND ${IS_HINTED} ${IN_ORDER} LIMIT $4`,
};
const ALL: Statement = {
  name: 'tail_ahead_all',
  text: `SELECT ${COLUMNS} FROM angelia.events e WHERE ${IS_AFTER} ${IN_ORDER} LIMIT $4`,
};

/**
 * Reads events that are hinted, whether their order is decided or not: hints are harmless in any order. With `all` it
 * also reads the others, for a reader that wants to get past them.
 */
export async function readForRelay(
  pool: ConnectionPool,
  after: TailCursor,
  limit: number,
  options: { all: boolean },
): Promise<RelayEvent[]> {
  const rows = await pool.query(options.all ? ALL : HINTED, [after.epoch, after.tx, after.position, limit]);
  return rows.map((row) => ({
    cursor: toCursor(row),
    position: row[2] as number,
    streamId: row[3] as string,
    version: row[4] as number,
    type: row[5] as string,
    eventId: row[6] as string,
    traceparent: row[7] as string | null,
    visible: row[8] === true,
    hinted: row[9] === true,
  }));
}
