import { type EventMeta, FIRST_TURN_VERSION, unhintedTypes } from '@angelia/contracts';
import type { ConnectionPool, Row, Statement } from '../connection/connection-pool.ts';

/**
 * A place in the global order (epoch, tx, position). `tx` is a 64-bit transaction id, kept as text.
 * `position` alone is not an order: transactions commit in another order than they take their positions.
 */
export interface TailCursor {
  readonly epoch: number;
  readonly tx: string;
  readonly position: number;
}

export function isAfter(a: TailCursor, b: TailCursor): boolean {
  if (a.epoch !== b.epoch) return a.epoch > b.epoch;
  return a.tx === b.tx ? a.position > b.position : BigInt(a.tx) > BigInt(b.tx);
}

export const TAIL_START: TailCursor = { epoch: 0, tx: '0', position: 0 };

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
  /** The cursor of the last event, or the one that was given if there is none. */
  readonly next: TailCursor;
}

const COLUMNS = `e.epoch, e.tx::text, e.position, e.stream_id, e.version, e.type, e.schema_version, e.event_id, e.meta,
  date_part('epoch', e.recorded_at) * 1000 AS recorded`;

/** The upper bound is one row comparison, so that a poll does not read a long hidden tail only to drop it. */
export const IS_VISIBLE = `(e.epoch, e.tx, e.position)
  < ((SELECT c.epoch FROM angelia.cluster c), pg_snapshot_xmin(pg_current_snapshot()), 0::bigint)`;
export const IS_AFTER = '(e.epoch, e.tx, e.position) > ($1::int, $2::text::xid8, $3::bigint)';
export const IN_ORDER = 'ORDER BY e.epoch, e.tx, e.position';
/** Filtered here and not by the reader: five of a session's eight events are not hinted, and each row costs some 5 us to fetch. */
export const IS_HINTED = `e.type <> ALL (ARRAY['${unhintedTypes.join("', '")}'])
  AND NOT (e.type = 'turn.requested' AND e.version <= ${FIRST_TURN_VERSION})`;

const WITH_DATA: Statement = {
  name: 'tail_with_data',
  text: `SELECT ${COLUMNS}, e.data FROM angelia.events e WHERE ${IS_AFTER} AND ${IS_VISIBLE} ${IN_ORDER} LIMIT $4`,
};
const WITHOUT_DATA: Statement = {
  name: 'tail',
  text: `SELECT ${COLUMNS} FROM angelia.events e WHERE ${IS_AFTER} AND ${IS_VISIBLE} ${IN_ORDER} LIMIT $4`,
};
/**
 * At most $5 bytes of data as stored, except that there is always a first event. The rows are counted in Postgres, and only
 * those within the bound are sent.
 */
const WITHIN_BYTES: Statement = {
  name: 'tail_within_bytes',
  text: `SELECT e.* FROM (
           SELECT ${COLUMNS}, e.data,
             row_number() OVER w AS n, sum(pg_column_size(e.data)) OVER w AS bytes
           FROM angelia.events e WHERE ${IS_AFTER} AND ${IS_VISIBLE}
           WINDOW w AS (${IN_ORDER} ROWS UNBOUNDED PRECEDING)
           ${IN_ORDER} LIMIT $4
         ) e WHERE e.n = 1 OR e.bytes <= $5`,
};
const IS_PAST: Statement = {
  name: 'tail_is_past',
  text: `SELECT ($1::int, $2::text::xid8) < (c.epoch, pg_snapshot_xmin(pg_current_snapshot())) FROM angelia.cluster c`,
};
const END: Statement = {
  name: 'tail_end',
  text: `SELECT e.epoch, e.tx::text, e.position FROM angelia.events e WHERE ${IS_VISIBLE}
         ORDER BY e.epoch DESC, e.tx DESC, e.position DESC LIMIT 1`,
};

/**
 * All events in the global order. A transaction's rows appear when it commits, not when it takes its id: a reader that
 * pages by position, or by tx alone, skips a slow one. So a reader sees only rows whose tx is below the oldest transaction
 * that is still open (pg_snapshot_xmin): all of those are decided, and none can appear behind the reader any more. Rows
 * of earlier epochs come from another cluster, whose ids mean nothing here, and are all visible.
 */
export class Tail {
  readonly #pool: ConnectionPool;

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
  }

  async read(after: TailCursor, limit: number, options: { data: boolean }): Promise<TailPage> {
    const statement = options.data ? WITH_DATA : WITHOUT_DATA;
    const rows = await this.#pool.query(statement, [after.epoch, after.tx, after.position, limit]);
    const events = rows.map(toTailEvent);
    return { events, next: events.at(-1)?.cursor ?? after };
  }

  /** With data, but not more than `bytes` as stored unless a single event is larger. An empty page is the end, a short one is not. */
  async readWithin(after: TailCursor, limit: number, bytes: number): Promise<TailPage> {
    const values = [after.epoch, after.tx, after.position, limit, bytes];
    const events = (await this.#pool.query(WITHIN_BYTES, values)).map(toTailEvent);
    return { events, next: events.at(-1)?.cursor ?? after };
  }

  /** Whether everything up to this place is visible. False for a place of another log. */
  async isPast({ epoch, tx }: TailCursor): Promise<boolean> {
    return (await this.#pool.query(IS_PAST, [epoch, tx]))[0]?.[0] === true;
  }

  /** The last place that is visible in the tail now. */
  async end(): Promise<TailCursor> {
    const row = (await this.#pool.query(END, []))[0];
    return row === undefined ? TAIL_START : toCursor(row);
  }
}

/** From the first three columns: epoch, tx, position. */
export function toCursor(row: Row): TailCursor {
  return { epoch: row[0] as number, tx: row[1] as string, position: row[2] as number };
}

function toTailEvent(row: Row): TailEvent {
  return {
    cursor: toCursor(row),
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
