import type { Session } from '../../../api/calls/session-calls.ts';

/** What a row shows. A list may have 100,000 of them, so it keeps no more of a session. */
export interface SessionRow {
  readonly id: string;
  readonly title: string;
  readonly route: string;
  readonly status: Session['status'];
  readonly waiting_for: Session['waiting_for'];
  readonly outcome: Session['outcome'];
  readonly failure: string | null;
  readonly agent: string;
  readonly model: string | null;
  readonly created: number;
  readonly ended: number | null;
  readonly tokens: number;
  readonly dead: number;
  readonly version: number;
}

export function rowOf(session: Session): SessionRow {
  return {
    id: session.id,
    title: session.title.slice(0, 300),
    route: session.route,
    status: session.status,
    waiting_for: session.waiting_for,
    outcome: session.outcome,
    failure: session.failure?.code ?? null,
    agent: session.agent,
    model: session.model,
    created: Date.parse(session.created_at),
    ended: session.ended_at === null ? null : Date.parse(session.ended_at),
    tokens: session.usage.input_tokens + session.usage.output_tokens,
    dead: session.deliveries.dead,
    version: session.version,
  };
}

/** The list as it is shown. It never changes: every function below returns another one. */
export interface Rows {
  readonly rows: readonly SessionRow[];
  /** Newer sessions that are not shown yet, so that the list does not jump under the reader's eyes. */
  readonly waiting: readonly SessionRow[];
  /** There are more newer ones than a page holds: the list has to be loaded again. */
  readonly behind: boolean;
}

/**
 * Pages are in order, so a session of a page can only be among its neighbours. To look at all of 100,000 rows for each page
 * would take longer than a frame.
 */
const NEIGHBOURS = 2_000;

export const NO_ROWS: Rows = { rows: [], waiting: [], behind: false };

/** The next page, at the end. What is there already stays where it is. */
export function withPage(list: Rows, page: readonly SessionRow[]): Rows {
  const known = new Set(list.rows.slice(-NEIGHBOURS).map(({ id }) => id));
  const fresh = page.filter(({ id }) => !known.has(id));
  return fresh.length === 0 ? list : { ...list, rows: [...list.rows, ...fresh] };
}

/**
 * The first page again, because something happened. Rows that are known change in place. New sessions come in at the top if the
 * reader is there, and else wait. A row that no longer fits the filter stays: nothing disappears under a pointer.
 */
export function withHead(list: Rows, head: readonly SessionRow[], atTop: boolean): Rows {
  const updated = withUpdates(list, head);
  const known = new Set([...list.rows.slice(0, NEIGHBOURS), ...list.waiting].map(({ id }) => id));
  const newest = list.waiting[0]?.created ?? list.rows[0]?.created ?? Number.NEGATIVE_INFINITY;
  // Older unknown ones have begun to fit the filter. They are where they belong after the next load.
  const fresh = head.filter(({ id, created }) => !known.has(id) && created >= newest);
  const behind = list.behind || (list.rows.length > 0 && head.length > 0 && fresh.length === head.length);
  const waiting = [...fresh, ...updated.waiting];
  return atTop && !behind
    ? { rows: waiting.length === 0 ? updated.rows : [...waiting, ...updated.rows], waiting: [], behind }
    : { rows: updated.rows, waiting, behind };
}

/** Rows that changed, in place. */
export function withUpdates(list: Rows, changed: readonly SessionRow[]): Rows {
  const byId = new Map(changed.map((row) => [row.id, row]));
  const swap = (rows: readonly SessionRow[]) => {
    if (!rows.some((row) => isNewer(byId.get(row.id), row))) return rows;
    return rows.map((row) => {
      const next = byId.get(row.id);
      return next !== undefined && isNewer(next, row) ? next : row;
    });
  };
  return { ...list, rows: swap(list.rows), waiting: swap(list.waiting) };
}

/** The view is a moment behind the log: an older state never replaces a newer one. */
function isNewer(next: SessionRow | undefined, row: SessionRow): boolean {
  return next !== undefined && next.version > row.version;
}

/** Erased sessions. */
export function without(list: Rows, ids: ReadonlySet<string>): Rows {
  const keep = (rows: readonly SessionRow[]) => rows.filter(({ id }) => !ids.has(id));
  return { ...list, rows: keep(list.rows), waiting: keep(list.waiting) };
}
