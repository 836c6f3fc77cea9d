import { sql } from 'kysely';
import type { ConnectionPool, Row, Statement } from '../connection/connection-pool.ts';
import { queries } from '../connection/query-builder.ts';
import type { Schema } from '../connection/schema.ts';
import { type Count, decodeCursor, MOST_COUNTED, type Page, toPage } from './page.ts';
import { type ListedSession, type SessionFilter, SessionList, type SessionPage } from './session-list.ts';
import type { ViewsVersion } from './views-version.ts';

interface DeliveryFilter {
  readonly status?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly output?: number | undefined;
  readonly target?: string | undefined;
  readonly route?: string | undefined;
  /** Changed at this time or later, in milliseconds. */
  readonly since?: number | undefined;
  /** Changed before this time. */
  readonly until?: number | undefined;
}

interface DeliveryPage extends DeliveryFilter {
  readonly limit: number;
  readonly cursor?: string | undefined;
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
  readonly sessionId?: string | undefined;
  readonly processId?: string | undefined;
  /** The beginning of an id. */
  readonly idPrefix?: string | undefined;
  readonly status?: string | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

export interface ListedProcess {
  readonly processId: string;
  readonly sessionId: string;
  readonly status: string;
  readonly updatedAt: number;
  readonly detail: unknown;
}

interface QuestionFilter {
  readonly route?: string | undefined;
}

interface QuestionPage extends QuestionFilter {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** A question, or a request for approval. */
export interface ListedQuestion {
  readonly sessionId: string;
  readonly route: string;
  readonly agent: string;
  readonly title: string;
  readonly askedAt: number;
  /** Of the event that asks: the views hold no long texts. */
  readonly data: unknown;
}

/** A question is in the log before it is in the views, so the join leaves none out. */
const QUESTIONS = openOnes('open_questions', 'person', 'clarification');
const APPROVALS = openOnes('open_approvals', 'approval', 'approval');

function openOnes(name: string, waitingFor: string, key: string): Statement {
  return {
    name,
    text: `SELECT s.session_id, s.route, s.agent, s.title, date_part('epoch', s.waiting_since) * 1000, e.data
           FROM (SELECT * FROM angelia.sessions s
                 WHERE s.waiting_for = '${waitingFor}' AND ($1::text IS NULL OR s.route = $1)
                   AND (s.waiting_since, s.session_id) > (to_timestamp($2::float8 / 1000), $3::text)
                 ORDER BY s.waiting_since, s.session_id LIMIT $4) s
           JOIN angelia.events e ON e.stream_id = s.session_id AND e.version = (s.state #>> '{${key},output}')::int
           ORDER BY s.waiting_since, s.session_id`,
  };
}

/** Lists come from the views, which may be a moment behind. A single session is folded from its stream instead. */
export class Lists {
  readonly #pool: ConnectionPool;
  readonly #sessions: SessionList;
  readonly #version: ViewsVersion;

  constructor(pool: ConnectionPool, version: ViewsVersion) {
    this.#pool = pool;
    this.#version = version;
    this.#sessions = new SessionList(pool, version);
  }

  /**
   * A page may have fewer items than its limit, or none, and still a cursor: then few sessions fit, and there are more to
   * look at.
   * @throws TooManyToSort, InvalidCursor, ViewsOutdated
   */
  sessions(page: SessionPage): Promise<Page<ListedSession>> {
    return this.#sessions.page(page);
  }

  /** How many sessions fit, as far as that can be told quickly. @throws ViewsOutdated */
  countSessions(filter: SessionFilter): Promise<Count> {
    return this.#sessions.count(filter);
  }

  /**
   * What a person's text means: the beginning of an id, else a delivery id, else a part of a title. The first of these that
   * some session has. @throws ViewsOutdated
   */
  meaningOf(text: string): Promise<Pick<SessionFilter, 'idPrefix' | 'deliveryId' | 'title'>> {
    return this.#sessions.meaningOf(text);
  }

  /** Open questions, the oldest first. @throws InvalidCursor, ViewsOutdated */
  async questions({ route, limit, cursor }: QuestionPage): Promise<Page<ListedQuestion>> {
    const [since, id] = decodeCursor(cursor, 2) ?? [0, ''];
    await this.#version.check();
    const rows = await this.#pool.query(QUESTIONS, [route ?? null, since, id, limit + 1]);
    return toPage(rows, limit, toListedQuestion, (row) => [row.askedAt, row.sessionId]);
  }

  /** Open requests for approval, the oldest first. @throws InvalidCursor, ViewsOutdated */
  async approvals({ route, limit, cursor }: QuestionPage): Promise<Page<ListedQuestion>> {
    const [since, id] = decodeCursor(cursor, 2) ?? [0, ''];
    await this.#version.check();
    const rows = await this.#pool.query(APPROVALS, [route ?? null, since, id, limit + 1]);
    return toPage(rows, limit, toListedQuestion, (row) => [row.askedAt, row.sessionId]);
  }

  /** Last changed first. */
  async deliveries({ limit, cursor, ...filter }: DeliveryPage): Promise<Page<ListedDelivery>> {
    let query = deliveriesBy(filter)
      .selectAll()
      .orderBy('updated_at', 'desc')
      .orderBy('session_id', 'desc')
      .orderBy('output', 'desc')
      .limit(limit + 1);
    const after = decodeCursor(cursor, 3);
    if (after) {
      query = query.where(
        sql<boolean>`(updated_at, session_id, output) < (to_timestamp(${after[0]}::float8 / 1000), ${after[1]}, ${after[2]}::int)`,
      );
    }
    const rows = await this.#pool.run(query);
    return toPage(rows, limit, toListedDelivery, (row) => [row.updatedAt, row.sessionId, row.output]);
  }

  async countDeliveries(filter: DeliveryFilter): Promise<Count> {
    const found = deliveriesBy(filter)
      .select('session_id')
      .limit(MOST_COUNTED + 1);
    const query = queries.selectFrom(found.as('d')).select(sql<number>`count(*)::int`.as('count'));
    const count = (await this.#pool.run(query))[0]?.count ?? 0;
    return { count: Math.min(count, MOST_COUNTED), exact: count <= MOST_COUNTED };
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
    if (filter.idPrefix !== undefined) {
      query = query
        .where('process_id', '>=', filter.idPrefix)
        // Behind every character of an id.
        .where('process_id', '<', `${filter.idPrefix}~`);
    }
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

function deliveriesBy({ status, sessionId, output, target, route, since, until }: DeliveryFilter) {
  let query = queries.selectFrom('angelia.deliveries');
  if (status !== undefined) query = query.where('status', '=', status);
  if (sessionId !== undefined) query = query.where('session_id', '=', sessionId);
  if (output !== undefined) query = query.where('output', '=', output);
  if (target !== undefined) query = query.where('target', '=', target);
  if (since !== undefined) query = query.where('updated_at', '>=', new Date(since));
  if (until !== undefined) query = query.where('updated_at', '<', new Date(until));
  if (route === undefined) return query;
  const ofRoute = queries.selectFrom('angelia.sessions').select('session_id').where('route', '=', route);
  return query.where('session_id', 'in', ofRoute);
}

function toListedQuestion([sessionId, route, agent, title, askedAt, data]: Row): ListedQuestion {
  return {
    sessionId: sessionId as string,
    route: route as string,
    agent: agent as string,
    title: title as string,
    askedAt: Math.round(askedAt as number),
    data,
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
