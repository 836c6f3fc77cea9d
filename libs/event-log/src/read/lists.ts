import {
  type CompiledQuery,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  sql,
} from 'kysely';
import type { Lane } from '../connection/database.ts';
import { InvalidCursor } from '../errors.ts';

export interface SessionFilter {
  readonly route?: string;
  readonly status?: string;
  readonly limit: number;
  /** `nextCursor` of the page before. */
  readonly cursor?: string;
}

export interface ListedSession {
  readonly sessionId: string;
  readonly version: number;
  readonly route: string;
  readonly status: string;
  readonly outcome: string | null;
  readonly createdAt: number;
  readonly lastActivityAt: number;
  readonly endedAt: number | null;
  readonly settled: boolean;
  /** The state that the projection keeps, to render the rest of the session from. */
  readonly state: unknown;
}

export interface DeliveryFilter {
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

export interface ProcessFilter {
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

interface Views {
  'angelia.sessions': {
    session_id: string;
    version: number;
    route: string;
    status: string;
    outcome: string | null;
    created_at: Date;
    last_activity_at: Date;
    ended_at: Date | null;
    settled: boolean;
    state: unknown;
  };
  'angelia.deliveries': {
    session_id: string;
    output: number;
    target: string;
    status: string;
    attempts: number;
    due_at: Date | null;
    updated_at: Date;
    detail: unknown;
  };
  'angelia.processes': {
    process_id: string;
    session_id: string;
    status: string;
    updated_at: Date;
    detail: unknown;
  };
}

/** The only status that grows with the age of the log. */
const ENDED = 'ended';

/** Only builds the statements: they run on the lane's connections, with its time limits and errors. */
const build = new Kysely<Views>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/** Lists come from the views, which may be a moment old; one session by id is folded from its stream instead. */
export class Lists {
  private readonly lane: Lane;
  constructor(lane: Lane) {
    this.lane = lane;
  }

  /** Newest first: a session's id begins with its time. */
  async sessions(filter: SessionFilter): Promise<Page<ListedSession>> {
    let query = build
      .selectFrom('angelia.sessions')
      .selectAll()
      .orderBy('session_id', 'desc')
      .limit(filter.limit + 1);
    if (filter.route !== undefined) query = query.where('route', '=', filter.route);
    if (filter.status !== undefined) query = query.where('status', '=', filter.status);
    // Said to the planner: the index of those that are not settled will do.
    if (filter.status !== undefined && filter.status !== ENDED) query = query.where('settled', '=', false);
    const after = decodeCursor(filter.cursor, 2);
    if (after) query = query.where('session_id', '<', String(after[1]));
    const rows = await this.rows(query.compile());
    return toPage(rows, filter.limit, toListedSession, (row) => [row.createdAt, row.sessionId]);
  }

  /** The last changed first. */
  async deliveries(filter: DeliveryFilter): Promise<Page<ListedDelivery>> {
    let query = build
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
      const ofRoute = build
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
    const rows = await this.rows(query.compile());
    return toPage(rows, filter.limit, toListedDelivery, (row) => [row.updatedAt, row.sessionId, row.output]);
  }

  /** The last changed first. */
  async processes(filter: ProcessFilter): Promise<Page<ListedProcess>> {
    let query = build
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
    const rows = await this.rows(query.compile());
    return toPage(rows, filter.limit, toListedProcess, (row) => [row.updatedAt, row.processId]);
  }

  private rows<Row extends object>(query: CompiledQuery<Row>): Promise<Row[]> {
    return this.lane.select<Row>(query.sql, query.parameters);
  }
}

function toListedSession(row: Views['angelia.sessions']): ListedSession {
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

function toListedDelivery(row: Views['angelia.deliveries']): ListedDelivery {
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

function toListedProcess(row: Views['angelia.processes']): ListedProcess {
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

/** A cursor that we did not give out is the caller's mistake (a 400), not an empty page. */
function decodeCursor(cursor: string | undefined, length: number): readonly (string | number)[] | undefined {
  if (cursor === undefined) return undefined;
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    const [time, id, output] = Array.isArray(place) && place.length === length ? place : [];
    const valid = Number.isFinite(time) && typeof id === 'string' && (length < 3 || Number.isInteger(output));
    if (valid) return place as (string | number)[];
  } catch {
    // Not JSON: told below.
  }
  throw new InvalidCursor('the cursor is not one that this list gave out: begin again without it');
}
