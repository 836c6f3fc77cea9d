import type { EventType } from '@angelia/contracts';
import type { EventHint } from '../append/hints-of.ts';
import type { ConnectionPool, Statement } from '../connection/connection-pool.ts';
import { IN_ORDER, IS_AFTER, IS_HINTED, IS_VISIBLE, type TailCursor, toCursor } from '../tail/tail.ts';

/** An event that wants a hint: somebody may wait for it, and nobody acted upon it yet. */
export interface UnhintedEvent {
  readonly cursor: TailCursor;
  readonly hint: EventHint;
  /** False: an older transaction is still open, so the event's place in the order is not decided yet. */
  readonly visible: boolean;
}

export interface RelayPage {
  readonly events: readonly UnhintedEvent[];
  /** The last visible place of the tail in the same snapshot. Null: nothing is visible. */
  readonly end: TailCursor | null;
}

/**
 * The events by which the owner of a hint shows that it has read the stream up to there. Such an owner goes on by itself,
 * and if it dies, the sweep hints the session. The check is one probe of the primary key, estimated at half of
 * what publishing the hint again costs the relay and the bus.
 */
const ACTED_UPON = {
  'run.started': [
    'session.created',
    'turn.requested',
    'run.interrupted',
    'clarification.answered',
    'approval.decided',
  ],
  'delivery.attempted': [
    'session.final-response',
    'session.interim-status',
    'clarification.requested',
    'approval.requested',
    'delivery.retry-requested',
  ],
  'tool.finished': ['tool.started'],
} satisfies Partial<Record<EventType, readonly EventType[]>>;
const OWNERS_EVENT = Object.entries(ACTED_UPON)
  .map(([event, hinted]) => `WHEN e.type IN ('${hinted.join("', '")}') THEN '${event}'`)
  .join(' ');

const READ: Statement = {
  name: 'relay_page',
  text: `SELECT last.epoch, last.tx, last.position, page.*
    FROM (SELECT) one
    LEFT JOIN (
      SELECT e.epoch, e.tx::text AS tx, e.position FROM angelia.events e WHERE ${IS_VISIBLE}
      ORDER BY e.epoch DESC, e.tx DESC, e.position DESC LIMIT 1
    ) last ON true
    LEFT JOIN (
      SELECT e.epoch, e.tx::text, e.position, e.stream_id, e.version, e.type, e.event_id, e.meta ->> 'traceparent',
        ${IS_VISIBLE}
      FROM angelia.events e
      WHERE ${IS_AFTER} AND ${IS_HINTED} AND NOT EXISTS (
        SELECT FROM angelia.events later
        WHERE later.stream_id = e.stream_id AND later.version > e.version
          AND later.type = CASE ${OWNERS_EVENT} END)
      ${IN_ORDER} LIMIT $4
    ) page ON true`,
};

/** Reads events whether their order is decided or not: hints are harmless in any order. */
export async function readForRelay(
  pool: ConnectionPool,
  after: TailCursor,
  limit: number,
): Promise<RelayPage> {
  const rows = await pool.query(READ, [after.epoch, after.tx, after.position, limit]);
  const first = rows[0] as readonly unknown[];
  const events: UnhintedEvent[] = [];
  for (const row of rows) {
    // The one row of an empty page has only the end.
    if (row[3] === null) break;
    const traceparent = row[10] as string | null;
    events.push({
      cursor: toCursor(row.slice(3)),
      hint: {
        stream_id: row[6] as string,
        version: row[7] as number,
        type: row[8] as string,
        eventId: row[9] as string,
        ...(traceparent === null ? {} : { traceparent }),
      },
      visible: row[11] === true,
    });
  }
  return { events, end: first[0] === null ? null : toCursor(first) };
}
