import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { ConnectionPool } from '../connection/connection-pool.ts';
import { queries } from '../connection/query-builder.ts';
import type { Schema } from '../connection/schema.ts';
import { TooManyToSort } from '../errors.ts';
import { idAt } from './id-time.ts';
import { type Count, decodeCursor, encodeCursor, MOST_COUNTED, type Page } from './page.ts';
import type { ViewsVersion } from './views-version.ts';

/** What is left out does not matter. */
export interface SessionFilter {
  readonly route?: string | undefined;
  readonly status?: string | undefined;
  readonly outcome?: string | undefined;
  readonly agent?: string | undefined;
  readonly model?: string | undefined;
  /** The code of the failure. */
  readonly failure?: string | undefined;
  /** Created at this time or later, in milliseconds. */
  readonly since?: number | undefined;
  /** Created before this time. */
  readonly until?: number | undefined;
  /** The session that it continues. */
  readonly continues?: string | undefined;
  /** What it waits for. */
  readonly waitingFor?: string | undefined;
  /** Ended at this time or later. */
  readonly endedSince?: number | undefined;
  /** Ended before this time. */
  readonly endedBefore?: number | undefined;
  /** Not ended. */
  readonly isOpen?: boolean | undefined;
  /** Nothing happens to it any more. */
  readonly isSettled?: boolean | undefined;
  readonly idPrefix?: string | undefined;
  /** The whole id. */
  readonly deliveryId?: string | undefined;
  /** A part of the title, in upper or lower case. */
  readonly title?: string | undefined;
  /** A part of what was captured when it was made, as the state has it: the address of its answers, for example. */
  readonly created?: object | undefined;
}

/** `active`: last active first. `longest`: the longest from creation to end, or until now. `tokens`: the most tokens. */
export type SessionSort = 'newest' | 'oldest' | 'active' | 'longest' | 'tokens';

export interface SessionPage extends SessionFilter {
  /** Default `newest`. Only `newest` and `oldest` have further pages. */
  readonly sort?: SessionSort | undefined;
  readonly limit: number;
  /** `nextCursor` of the previous page. */
  readonly cursor?: string | undefined;
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
  /** The state that the projection keeps. The rest of the session is rendered from it. */
  readonly state: unknown;
}

/**
 * How many rows a page looks at. A filter that few rows pass ends there and returns a cursor, however many sessions there
 * are. Measured with 1 million sessions: 35 ms for as many rows that do not pass.
 */
const MOST_LOOKED_AT = 50_000;
/** The only status whose sessions grow in number with the age of the log. */
const ENDED = 'ended';
/** The index of outcomes leaves it out. */
const SUCCEEDED = 'succeeded';

/**
 * A session's id starts with the time at which its ingress made it, `created_at` is the time of the database. A clock that is
 * wrong by more than this breaks much more than lists.
 */
const CLOCK_SLACK_MS = 3_600_000;

type Condition = RawBuilder<SqlBool>;
/** `settled` and `open` have their own indexes. `all`: the primary key, or the index by route. */
type Scope = 'open' | 'settled' | 'all';

interface Look {
  readonly scope: Scope;
  /** Together they use one index, in the order of ids. */
  readonly indexed: readonly Condition[];
  /** Checked on each row that is looked at. */
  readonly others: readonly Condition[];
}

/**
 * Sessions by filter, from the views. Each query reads one index in the order of ids, chosen here and not by the planner, and
 * checks the other conditions on the rows that it looks at. So its cost has a bound whatever the filter and whatever the
 * planner knows: a page ends after MOST_LOOKED_AT rows, also when it is not full.
 */
export class SessionList {
  readonly #pool: ConnectionPool;
  readonly #mostLookedAt: number;
  readonly #mostCounted: number;
  readonly #version: ViewsVersion;

  /** The bounds are for tests. */
  constructor(
    pool: ConnectionPool,
    version: ViewsVersion,
    mostLookedAt = MOST_LOOKED_AT,
    mostCounted = MOST_COUNTED,
  ) {
    this.#pool = pool;
    this.#version = version;
    this.#mostLookedAt = mostLookedAt;
    this.#mostCounted = mostCounted;
  }

  async page({ sort = 'newest', limit, cursor, ...filter }: SessionPage): Promise<Page<ListedSession>> {
    await this.#checkVersion(filter, sort);
    if (sort !== 'newest' && sort !== 'oldest') return this.#top(filter, sort, limit);
    const direction = sort === 'newest' ? 'desc' : 'asc';
    const after = decodeCursor(cursor, 2)?.[1];
    const parts = await Promise.all(
      looksFor(filter).map((look) =>
        this.#look(after === undefined ? look : behind(look, String(after), direction), limit, direction),
      ),
    );
    return merged(parts, limit, direction);
  }

  async count(filter: SessionFilter): Promise<Count> {
    await this.#checkVersion(filter, 'newest');
    const counts = await Promise.all(
      looksFor(filter).map(async ({ scope, indexed, others }) => {
        const rows = await this.#pool.run(
          queries
            .selectFrom(
              queries
                .selectFrom('angelia.sessions as s')
                .select(all(others).as('fits'))
                .where(all([...inScope(scope), ...indexed]))
                .orderBy('s.session_id', 'desc')
                .limit(this.#mostCounted)
                .as('c'),
            )
            .select([
              sql<number>`count(*) FILTER (WHERE c.fits)::int`.as('count'),
              sql<number>`count(*)::int`.as('looked'),
            ]),
        );
        return rows[0] ?? { count: 0, looked: 0 };
      }),
    );
    return {
      count: counts.reduce((sum, { count }) => sum + count, 0),
      exact: counts.every(({ looked }) => looked < this.#mostCounted),
    };
  }

  async meaningOf(text: string): Promise<Pick<SessionFilter, 'idPrefix' | 'deliveryId' | 'title'>> {
    const prefix = text.toLowerCase();
    if (isIdPrefix(prefix) && (await this.#exists({ idPrefix: prefix }))) return { idPrefix: prefix };
    if (await this.#exists({ deliveryId: text })) return { deliveryId: text };
    return { title: text };
  }

  async #exists(filter: SessionFilter): Promise<boolean> {
    return (await this.page({ ...filter, limit: 1 })).items.length > 0;
  }

  async #look({ scope, indexed, others }: Look, limit: number, direction: 'asc' | 'desc'): Promise<Part> {
    const rows = await this.#pool.run(
      queries
        .selectFrom(
          queries
            .selectFrom('angelia.sessions as s')
            .selectAll('s')
            .select([
              sql<number>`row_number() OVER (ORDER BY s.session_id ${sql.raw(direction)})::int`.as('n'),
              all(others).as('fits'),
            ])
            .where(all([...inScope(scope), ...indexed]))
            .orderBy('s.session_id', direction)
            .limit(this.#mostLookedAt)
            .as('c'),
        )
        .selectAll()
        // The last row that is looked at always comes, so that the caller knows where it ended.
        .where(sql<SqlBool>`c.fits OR c.n = ${sql.lit(this.#mostLookedAt)}`)
        .orderBy('c.session_id', direction)
        .limit(limit + 1),
    );
    const last = rows.at(-1);
    const fitting = rows.filter(({ fits }) => fits);
    const isWhole = fitting.length <= limit && last?.n !== this.#mostLookedAt;
    return { items: fitting.map(toListedSession), end: isWhole || !last ? null : toListedSession(last) };
  }

  /** The first ones by something else than their age. All that the filter finds are looked at, so they have to be few. */
  async #top(
    filter: SessionFilter,
    sort: 'active' | 'longest' | 'tokens',
    limit: number,
  ): Promise<Page<ListedSession>> {
    const parts = await Promise.all(
      looksFor(filter).map(async ({ scope, indexed, others }) => {
        const rows = await this.#pool.run(
          queries
            .with('looked', (from) =>
              from
                .selectFrom('angelia.sessions as s')
                .select(['s.session_id', all(others).as('fits'), SORT_KEYS[sort].as('key')])
                .where(all([...inScope(scope), ...indexed]))
                .limit(this.#mostLookedAt + 1),
            )
            .selectFrom('looked')
            .select(['looked.session_id', 'looked.key', 'looked.fits'])
            .select(sql<number>`count(*) OVER ()::int`.as('looked'))
            .orderBy('looked.fits', 'desc')
            .orderBy('looked.key', 'desc')
            .orderBy('looked.session_id', 'desc')
            .limit(limit),
        );
        if ((rows[0]?.looked ?? 0) > this.#mostLookedAt)
          throw new TooManyToSort(`more than ${this.#mostLookedAt} sessions match: narrow the filter`);
        return rows.filter(({ fits }) => fits);
      }),
    );
    const first = parts
      .flat()
      .sort((a, b) => b.key - a.key || compare(b.session_id, a.session_id))
      .slice(0, limit)
      .map(({ session_id }) => session_id);
    if (first.length === 0) return { items: [], nextCursor: null };
    const rows = await this.#pool.run(
      queries.selectFrom('angelia.sessions').selectAll().where('session_id', 'in', first),
    );
    const byId = new Map(rows.map((row) => [row.session_id, toListedSession(row)]));
    return { items: first.flatMap((id) => byId.get(id) ?? []), nextCursor: null };
  }

  /** Columns of this version are empty in the rows of earlier ones. */
  async #checkVersion({ route, status, ...rest }: SessionFilter, sort: SessionSort): Promise<void> {
    const needsColumns =
      sort === 'tokens' ||
      Object.entries(rest).some(([name, value]) => value !== undefined && !KNOWN_TO_ALL.includes(name));
    if (needsColumns) await this.#version.check();
  }
}

/** Filters that views of version 1 answer too. */
const KNOWN_TO_ALL = [
  'outcome',
  'since',
  'until',
  'endedSince',
  'endedBefore',
  'isOpen',
  'isSettled',
  'idPrefix',
  'created',
];

const SORT_KEYS: Readonly<Record<'active' | 'longest' | 'tokens', RawBuilder<number>>> = {
  active: sql`date_part('epoch', s.last_activity_at)`,
  longest: sql`date_part('epoch', coalesce(s.ended_at, now()) - s.created_at)`,
  tokens: sql`s.tokens::float8`,
};

/** Items in order. `end`: there may be more behind this one. */
interface Part {
  readonly items: readonly ListedSession[];
  readonly end: ListedSession | null;
}

/** Behind the first end, nobody knows what another part would still bring. */
function merged(parts: readonly Part[], limit: number, direction: 'asc' | 'desc'): Page<ListedSession> {
  const sign = direction === 'asc' ? 1 : -1;
  const inOrder = (a: ListedSession, b: ListedSession) => sign * compare(a.sessionId, b.sessionId);
  const end = parts.flatMap((part) => part.end ?? []).sort(inOrder)[0];
  const items = parts
    .flatMap((part) => part.items)
    .filter((item) => end === undefined || inOrder(item, end) <= 0)
    .sort(inOrder);
  const page = items.slice(0, limit);
  const last = items.length > limit ? page.at(-1) : end;
  return {
    items: page,
    nextCursor: last === undefined ? null : encodeCursor([last.createdAt, last.sessionId]),
  };
}

/** Columns with an index over the settled sessions, the one that leaves the fewest rows first. */
const INDEXED = ['continues', 'delivery_id', 'failure', 'outcome', 'model', 'agent'] as const;

/** What to look at for a filter. The indexes of settled sessions need a second look, at the open ones. */
function looksFor(filter: SessionFilter): Look[] {
  const { route, status, outcome, agent, model, failure, deliveryId, idPrefix, title, isOpen, isSettled } =
    filter;
  const { waitingFor, continues, created } = filter;
  const range = idRange(filter);
  const wanted = new Map(
    Object.entries({
      ...{ route, status, outcome, agent, model, failure },
      ...{ delivery_id: deliveryId, waiting_for: waitingFor, continues },
    }).flatMap(([column, value]) => (value === undefined ? [] : [[column, is(column, value)] as const])),
  );
  const others = (indexed?: string): Condition[] => [
    ...[...wanted].flatMap(([column, condition]) => (column === indexed ? [] : [condition])),
    ...timesOf(filter),
    ...(isOpen ? [sql<SqlBool>`s.status <> ${sql.lit(ENDED)}`] : []),
    ...(isSettled ? [sql<SqlBool>`s.settled`] : []),
    ...(created === undefined ? [] : [sql<SqlBool>`s.state @> ${JSON.stringify({ created })}::jsonb`]),
    ...(title === undefined ? [] : [sql<SqlBool>`strpos(lower(s.title), lower(${title})) > 0`]),
  ];
  const open: Look = { scope: 'open', indexed: range, others: others() };
  if (isOpen || waitingFor !== undefined || (status !== undefined && status !== ENDED)) return [open];
  // A range of the primary key, shorter than any other index.
  if (idPrefix !== undefined) return [{ scope: 'all', indexed: range, others: others() }];
  const best = INDEXED.find(
    (column) => wanted.has(column) && !(column === 'outcome' && outcome === SUCCEEDED),
  );
  if (best === undefined) {
    const byRoute = wanted.get('route');
    return byRoute === undefined
      ? [{ scope: 'all', indexed: range, others: others() }]
      : [{ scope: 'all', indexed: [byRoute, ...range], others: others('route') }];
  }
  const indexed = [wanted.get(best) ?? sql<SqlBool>`true`, ...range];
  // Tells the planner that the index fits.
  if (best === 'outcome') indexed.push(sql`s.outcome <> ${sql.lit(SUCCEEDED)}`);
  return [open, { scope: 'settled', indexed, others: others(best) }];
}

const is = (column: string, value: string): Condition => sql`${sql.ref(`s.${column}`)} = ${value}`;

/** Ids start with their time, so that a time is a range of every index here. `times` are exact. */
function idRange({ since, until, idPrefix }: SessionFilter): Condition[] {
  return [
    ...(since === undefined ? [] : [sql<SqlBool>`s.session_id >= ${idAt(since - CLOCK_SLACK_MS)}`]),
    ...(until === undefined ? [] : [sql<SqlBool>`s.session_id < ${idAt(until + CLOCK_SLACK_MS)}`]),
    // `g` is behind every digit of an id.
    ...(idPrefix === undefined
      ? []
      : [sql<SqlBool>`s.session_id >= ${idPrefix} AND s.session_id < ${`${idPrefix}g`}`]),
  ];
}

function timesOf({ since, until, endedSince, endedBefore }: SessionFilter): Condition[] {
  const at = (ms: number) => sql`to_timestamp(${ms}::float8 / 1000)`;
  return [
    ...(since === undefined ? [] : [sql<SqlBool>`s.created_at >= ${at(since)}`]),
    ...(until === undefined ? [] : [sql<SqlBool>`s.created_at < ${at(until)}`]),
    ...(endedSince === undefined ? [] : [sql<SqlBool>`s.ended_at >= ${at(endedSince)}`]),
    ...(endedBefore === undefined ? [] : [sql<SqlBool>`s.ended_at < ${at(endedBefore)}`]),
  ];
}

const AN_ID = '00000000-0000-0000-0000-000000000000';
/** Shorter ones are words: `add`, `feed`. Ids of the same minute share their first eight characters anyway. */
const SHORTEST_PREFIX = 8;

function isIdPrefix(text: string): boolean {
  return text.length >= SHORTEST_PREFIX && text.replaceAll(/[0-9a-f]/g, '0') === AN_ID.slice(0, text.length);
}

function inScope(scope: Scope): Condition[] {
  if (scope === 'all') return [];
  return [scope === 'open' ? sql`NOT s.settled` : sql`s.settled`];
}

function behind(look: Look, id: string, direction: 'asc' | 'desc'): Look {
  const condition: Condition = direction === 'asc' ? sql`s.session_id > ${id}` : sql`s.session_id < ${id}`;
  return { ...look, indexed: [...look.indexed, condition] };
}

function all(conditions: readonly Condition[]): RawBuilder<boolean> {
  return conditions.length === 0 ? sql`true` : sql`${sql.join([...conditions], sql` AND `)}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
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
