import { type EventMeta, FIRST_TURN_VERSION, unhintedTypes } from '@angelia/contracts';
import type { Lane, Statement } from '../connection/database.ts';
import type { TailCursor } from './tail-cursor.ts';

/**
 * The global order. A transaction's rows appear when it commits, not when it took its id: a reader that pages by
 * position, or by tx alone, skips a slow one. So a reader sees only rows whose tx is below the oldest transaction that
 * is still open (pg_snapshot_xmin): all of those are decided, none can appear behind it any more. Rows of earlier
 * epochs came from another cluster, whose ids mean nothing here, and are all visible.
 */
export interface TailEvent {
  readonly cursor: TailCursor;
  readonly streamId: string;
  readonly version: number;
  readonly type: string;
  readonly schemaVersion: number;
  readonly eventId: string;
  /** undefined when the page was read without data. */
  readonly data: unknown;
  readonly meta: EventMeta;
  readonly recordedAt: number;
  readonly position: number;
}

export interface TailPage {
  readonly events: TailEvent[];
  /** The cursor behind the last event, or the one that was given when there is none. */
  readonly next: TailCursor;
}

const COLUMNS = `e.epoch, e.tx::text, e.position, e.stream_id, e.version, e.type, e.schema_version, e.event_id, e.meta,
  date_part('epoch', e.recorded_at) * 1000`;

/** The upper bound is one row comparison, so that a long hidden tail is not read and thrown away on each poll. */
const VISIBLE = `(e.epoch, e.tx, e.position)
  < ((SELECT c.epoch FROM angelia.cluster c), pg_snapshot_xmin(pg_current_snapshot()), 0::bigint)`;
const AFTER = '(e.epoch, e.tx, e.position) > ($1::int, $2::text::xid8, $3::bigint)';
const IN_ORDER = 'ORDER BY e.epoch, e.tx, e.position';

const WITH_DATA: Statement = {
  name: 'tail_with_data',
  text: `SELECT ${COLUMNS}, e.data FROM angelia.events e WHERE ${AFTER} AND ${VISIBLE} ${IN_ORDER} LIMIT $4`,
};
const WITHOUT_DATA: Statement = {
  name: 'tail',
  text: `SELECT ${COLUMNS} FROM angelia.events e WHERE ${AFTER} AND ${VISIBLE} ${IN_ORDER} LIMIT $4`,
};
/** Left out here and not by the reader: of eight events of a session five are not, and each row costs some 5 us to bring here. */
export const HINTED = `e.type <> ALL (ARRAY['${unhintedTypes.join("', '")}'])
  AND NOT (e.type = 'turn.requested' AND e.version <= ${FIRST_TURN_VERSION})`;
const AHEAD_COLUMNS = `e.epoch, e.tx::text, e.position, e.stream_id, e.version, e.type, e.event_id, e.meta ->> 'traceparent',
  ${VISIBLE}, ${HINTED}`;
const AHEAD: Statement = {
  name: 'tail_ahead',
  text: `SELECT ${AHEAD_COLUMNS} FROM angelia.events e WHERE ${AFTER} AND ${HINTED} ${IN_ORDER} LIMIT $4`,
};
const AHEAD_ALL: Statement = {
  name: 'tail_ahead_all',
  text: `SELECT ${AHEAD_COLUMNS} FROM angelia.events e WHERE ${AFTER} ${IN_ORDER} LIMIT $4`,
};
const END: Statement = {
  name: 'tail_end',
  text: `SELECT e.epoch, e.tx::text, e.position FROM angelia.events e WHERE ${VISIBLE}
         ORDER BY e.epoch DESC, e.tx DESC, e.position DESC LIMIT 1`,
};

export async function readTail(
  lane: Lane,
  after: TailCursor,
  limit: number,
  options: { data: boolean },
): Promise<TailPage> {
  const statement = options.data ? WITH_DATA : WITHOUT_DATA;
  const rows = await lane.query(statement, [after.epoch, after.tx, after.position, limit]);
  const events = rows.map(toTailEvent);
  return { events, next: events.at(-1)?.cursor ?? after };
}

/** What the relay needs of an event: it reads every hinted one, so that each column counts. */
export interface AheadEvent {
  readonly cursor: TailCursor;
  readonly position: number;
  readonly streamId: string;
  readonly version: number;
  readonly type: string;
  readonly eventId: string;
  readonly traceparent: string | null;
  /** False: an older transaction is still open, so that its place in the order is not decided yet. */
  readonly visible: boolean;
  readonly hinted: boolean;
}

/**
 * Events that are hinted, whether the order holds for them yet or not: hints are harmless in any order. `all`: the
 * others too, for a reader that wants to get past them.
 */
export async function readAhead(
  lane: Lane,
  after: TailCursor,
  limit: number,
  options: { all: boolean },
): Promise<AheadEvent[]> {
  const rows = await lane.query(options.all ? AHEAD_ALL : AHEAD, [
    after.epoch,
    after.tx,
    after.position,
    limit,
  ]);
  return rows.map((row) => ({
    cursor: { epoch: row[0] as number, tx: row[1] as string, position: row[2] as number },
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

export async function tailEnd(lane: Lane): Promise<TailCursor> {
  const row = (await lane.query(END, []))[0];
  return row
    ? { epoch: row[0] as number, tx: row[1] as string, position: row[2] as number }
    : { epoch: 0, tx: '0', position: 0 };
}

function toTailEvent(row: readonly unknown[]): TailEvent {
  return {
    cursor: { epoch: row[0] as number, tx: row[1] as string, position: row[2] as number },
    position: row[2] as number,
    streamId: row[3] as string,
    version: row[4] as number,
    type: row[5] as string,
    schemaVersion: row[6] as number,
    eventId: row[7] as string,
    meta: row[8] as EventMeta,
    recordedAt: Math.round(row[9] as number),
    data: row[10],
  };
}

export class Tail {
  readonly #lane: Lane;

  constructor(lane: Lane) {
    this.#lane = lane;
  }

  read(after: TailCursor, limit: number, options: { data: boolean }): Promise<TailPage> {
    return readTail(this.#lane, after, limit, options);
  }

  /** The last place that is visible in the tail now. */
  end(): Promise<TailCursor> {
    return tailEnd(this.#lane);
  }
}
