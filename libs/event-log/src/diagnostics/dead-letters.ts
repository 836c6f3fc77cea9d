import { storable } from '../append/storable.ts';
import type { Lane, Statement } from '../connection/database.ts';

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
         DO UPDATE SET reason = EXCLUDED.reason, payload = EXCLUDED.payload, recorded_at = clock_timestamp(),
           replay_requested_at = NULL`,
};
const LIST: Statement = {
  name: 'list_dead_letters',
  text: `SELECT id, stream_id, version, handler, reason, payload, date_part('epoch', recorded_at) * 1000
         FROM angelia.dead_letters WHERE ($2::bigint IS NULL OR id < $2) AND ($3::bigint IS NULL OR id = $3)
         ORDER BY id DESC LIMIT $1`,
};
const FORGET: Statement = {
  name: 'forget_dead_letter',
  text: 'DELETE FROM angelia.dead_letters WHERE id = $1 AND (NOT $2 OR replay_requested_at IS NOT NULL)',
};
const REQUEST_REPLAY: Statement = {
  name: 'request_dead_letter_replay',
  text: 'UPDATE angelia.dead_letters SET replay_requested_at = clock_timestamp() WHERE id = $1',
};
const REQUESTED: Statement = {
  name: 'requested_dead_letters',
  text: `SELECT id, stream_id FROM angelia.dead_letters
         WHERE handler = $1 AND replay_requested_at IS NOT NULL ORDER BY id LIMIT 100`,
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

export interface DeadLetterFilter {
  readonly limit: number;
  /** Only older ones than this id. */
  readonly before?: number;
  readonly id?: number;
}

/** The newest first. */
async function listDeadLetters(lane: Lane, filter: DeadLetterFilter): Promise<DeadLetter[]> {
  const rows = await lane.query(LIST, [filter.limit, filter.before ?? null, filter.id ?? null]);
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

/** It was sent once more, or came right by itself. */
export async function forgetDeadLetter(
  lane: Lane,
  id: number,
  options: { requested: boolean } = { requested: false },
): Promise<void> {
  await lane.query(FORGET, [id, options.requested]);
}

/** The leader of the projection tries it again within some seconds; if that fails it is a new letter with a new reason. */
async function requestReplay(lane: Lane, id: number): Promise<void> {
  await lane.query(REQUEST_REPLAY, [id]);
}

export async function requestedReplays(
  lane: Lane,
  handler: string,
): Promise<{ readonly id: number; readonly streamId: string }[]> {
  const rows = await lane.query(REQUESTED, [handler]);
  return rows.map(([id, streamId]) => ({ id: id as number, streamId: streamId as string }));
}

/** Events that a handler can never process. An outage is no reason: throw, and be hinted again. */
export class DeadLetters {
  readonly #lane: Lane;

  constructor(lane: Lane) {
    this.#lane = lane;
  }

  record(letter: NewDeadLetter): Promise<void> {
    return recordDeadLetter(this.#lane, letter);
  }

  /** The newest first. */
  list(filter: DeadLetterFilter): Promise<DeadLetter[]> {
    return listDeadLetters(this.#lane, filter);
  }

  /** Of the projection: its leader tries again. Of a service: the caller hints it, then forgets it. */
  requestReplay(id: number): Promise<void> {
    return requestReplay(this.#lane, id);
  }

  forget(id: number): Promise<void> {
    return forgetDeadLetter(this.#lane, id);
  }
}
