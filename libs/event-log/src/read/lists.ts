import { sql } from 'kysely';
import type { ConnectionPool } from '../connection/connection-pool.ts';
import { queries } from '../connection/query-builder.ts';
import type { Schema } from '../connection/schema.ts';
import { InvalidCursor } from '../errors.ts';

interface SessionFilter {
  readonly route?: string;
  readonly status?: string;
  readonly limit: number;
  /** `nextCursor` of the previous page. */
  readonly cursor?: string;
}

interface ListedSession {
  readonly sessionId: string;
  readonly version: number;
  readonly route: string;
  readonly status: string;
  readonly outcome: string | null;
  readonly createdAt: number;
  readonly lastActivityAt: number;
  readonly endedAt: number | null;
  readonly settled: boolean;
  /** The state that the projection keeps. The rest of the session is rendered from it. */
  readonly state: unknown;
}

interface DeliveryFilter {
  readonly status?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly target?: string | undefined;
  readonly route?: string | undefined;
  readonly limit: number;
  readonly cursor?: string;
}

export interface ListedDelivery {
  readonly sessionId: string;
  readonly output: number;
  readonly target: string;
  readonly status: string;
  readonly attempts: number;
  readonly dueAt: number | null;
  readonly updatedAt: number;
  readonly detail: unknown;
}

interface ProcessFilter {
  readonly sessionId?: string;
  readonly processId?: string;
  readonly status?: string;
  readonly limit: number;
  readonly cursor?: string;
}

export interface ListedProcess {
  readonly processId: string;
  readonly sessionId: string;
  readonly status: string;
  readonly updatedAt: number;
  readonly detail: unknown;
}

export interface Page<T> {
  readonly items: T[];
  readonly nextCursor: string | null;
}

/** The only status whose sessions grow in number with the age of the log. */
const ENDED = 'ended';

/** Lists come from the views, which may be a moment behind. A single session is folded from its stream instead. */
export class Lists {
  readonly #pool: ConnectionPool;

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
  }

  /** Newest first: a session's id starts with its time. */
  async sessions(filter: SessionFilter): Promise<Page<ListedSession>> {
    let query = queries
      .selectFrom('angelia.sessions')
      .selectAll()
      .orderBy('session_id', 'desc')
      .limit(filter.limit + 1);
    if (filter.route !== undefined) query = query.where('route', '=', filter.route);
    if (filter.status !== undefined) query = query.where('status', '=', filter.status);
    // Tells the planner that it can use the index of the unsettled sessions.
    if (filter.status !== undefined && filter.status !== ENDED) query = query.where('settled', '=', false);
    const after = decodeCursor(filter.cursor, 2);
    if (after) query = query.where('session_id', '<', String(after[1]));
    const rows = await this.#pool.run(query);
    return toPage(rows, filter.limit, toListedSession, (row) => [row.createdAt, row.sessionId]);
  }

  /** Last changed first. */
  async deliveries(filter: DeliveryFilter): Promise<Page<ListedDelivery>> {
    let query = queries
      .selectFrom('angelia.deliveries')
      .selectAll()
      .orderBy('updated_at', 'desc')
      .orderBy('session_id', 'desc')
      .orderBy('output', 'desc')
      .limit(filter.limit + 1);
    if (filter.status !== undefined) query = query.where('status', '=', filter.status);
    if (filter.sessionId !== undefined) query = query.where('session_id', '=', filter.sessionId);
    if (filter.target !== undefined) query = query.where('target', '=', filter.target);
    if (filter.route !== undefined) {
      const ofRoute = queries
        .selectFrom('angelia.sessions')
        .select('session_id')
        .where('route', '=', filter.route);
      query = query.where('session_id', 'in', ofRoute);
    }
    const after = decodeCursor(filter.cursor, 3);
    if (after) {
      query = query.where(
        sql<boolean>`(updated_at, session_id, output) < (to_timestamp(${after[0]}::float8 / 1000), ${after[1]}, ${after[2]}::int)`,
      );
    }
    const rows = await this.#pool.run(query);
    return toPage(rows, filter.limit, toListedDelivery, (row) => [row.updatedAt, row.sessionId, row.output]);
  }

  /** Last changed first. */
  async processes(filter: ProcessFilter): Promise<Page<ListedProcess>> {
    let query = queries
      .selectFrom('angelia.processes')
      .selectAll()
      .orderBy('updated_at', 'desc')
      .orderBy('process_id', 'desc')
      .limit(filter.limit + 1);
    if (filter.sessionId !== undefined) query = query.where('session_id', '=', filter.sessionId);
    if (filter.processId !== undefined) query = query.where('process_id', '=', filter.processId);
    if (filter.status !== undefined) query = query.where('status', '=', filter.status);
    const after = decodeCursor(filter.cursor, 2);
    if (after) {
      query = query.where(
        sql<boolean>`(updated_at, process_id) < (to_timestamp(${after[0]}::float8 / 1000), ${after[1]})`,
      );
    }
    const rows = await this.#pool.run(query);
    return toPage(rows, filter.limit, toListedProcess, (row) => [row.updatedAt, row.processId]);
  }
}

function toListedSession(row: Schema['angelia.sessions']): ListedSession {
  return {
    sessionId: row.session_id,
    version: row.version,
    route: row.route,
    status: row.status,
    outcome: row.outcome,
    createdAt: row.created_at.getTime(),
    lastActivityAt: row.last_activity_at.getTime(),
    endedAt: row.ended_at?.getTime() ?? null,
    settled: row.settled,
    state: row.state,
  };
}

function toListedDelivery(row: Schema['angelia.deliveries']): ListedDelivery {
  return {
    sessionId: row.session_id,
    output: row.output,
    target: row.target,
    status: row.status,
    attempts: row.attempts,
    dueAt: row.due_at?.getTime() ?? null,
    updatedAt: row.updated_at.getTime(),
    detail: row.detail,
  };
}

function toListedProcess(row: Schema['angelia.processes']): ListedProcess {
  return {
    processId: row.process_id,
    sessionId: row.session_id,
    status: row.status,
    updatedAt: row.updated_at.getTime(),
    detail: row.detail,
  };
}

function toPage<Row, Item>(
  rows: readonly Row[],
  limit: number,
  toItem: (row: Row) => Item,
  placeOf: (item: Item) => readonly (string | number)[],
): Page<Item> {
  const items = rows.slice(0, limit).map(toItem);
  const last = items.at(-1);
  const more = rows.length > limit && last !== undefined;
  return {
    items,
    nextCursor: more ? Buffer.from(JSON.stringify(placeOf(last))).toString('base64url') : null,
  };
}

/** A cursor that we did not hand out is the caller's mistake (a 400), not an empty page. */
function decodeCursor(cursor: string | undefined, length: number): readonly (string | number)[] | undefined {
  if (cursor === undefined) return undefined;
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    const [time, id, output] = Array.isArray(place) && place.length === length ? place : [];
    const valid = Number.isFinite(time) && typeof id === 'string' && (length < 3 || Number.isInteger(output));
    if (valid) return place as (string | number)[];
  } catch {
    // Not JSON: thrown below.
  }
  throw new InvalidCursor('the cursor is not one that this list returned: start again without it');
}
