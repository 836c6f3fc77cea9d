import type { Lane, Statement } from './database.ts';
import { storable } from './storable.ts';

export interface NewDeadLetter {
  readonly streamId: string;
  readonly version: number;
  /** Which handler could not process it, e.g. `projection`, `agent-runner`. */
  readonly handler: string;
  readonly reason: string;
  readonly payload?: unknown;
}

export interface DeadLetter extends NewDeadLetter {
  readonly id: number;
  readonly recordedAt: number;
}

/** The same event and handler again is the same letter: a redelivered hint must not fill the table. */
const RECORD: Statement = {
  name: 'record_dead_letter',
  text: `INSERT INTO angelia.dead_letters (stream_id, version, handler, reason, payload)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (stream_id, version, handler)
         DO UPDATE SET reason = EXCLUDED.reason, payload = EXCLUDED.payload, recorded_at = clock_timestamp()`,
};
const LIST: Statement = {
  name: 'list_dead_letters',
  text: `SELECT id, stream_id, version, handler, reason, payload, date_part('epoch', recorded_at) * 1000
         FROM angelia.dead_letters ORDER BY id DESC LIMIT $1`,
};

export async function recordDeadLetter(lane: Lane, letter: NewDeadLetter): Promise<void> {
  const payload = letter.payload === undefined ? null : JSON.stringify(storable(letter.payload));
  await lane.query(RECORD, [
    letter.streamId,
    letter.version,
    letter.handler,
    storable(letter.reason),
    payload,
  ]);
}

export async function listDeadLetters(lane: Lane, limit: number): Promise<DeadLetter[]> {
  const rows = await lane.query(LIST, [limit]);
  return rows.map(([id, streamId, version, handler, reason, payload, recordedAt]) => ({
    id: id as number,
    streamId: streamId as string,
    version: version as number,
    handler: handler as string,
    reason: reason as string,
    payload: payload ?? undefined,
    recordedAt: Math.round(recordedAt as number),
  }));
}
