import { type LongLog, viewsOf } from './long-log.ts';

export interface Sizes {
  readonly sessions: number;
  readonly events: number;
  /** Bytes of each table and index that holds events or sessions, largest first. */
  readonly relations: readonly { readonly name: string; readonly isIndex: boolean; readonly bytes: number }[];
  /** Bytes that a session takes in the log, and in the views, with their indexes. */
  readonly logBytesPerSession: number;
  readonly viewBytesPerSession: number;
}

export async function sizesOf(long: LongLog): Promise<Sizes> {
  const views = await viewsOf(long);
  const relations = await long.query<{ name: string; isIndex: boolean; isView: boolean; bytes: number }>(
    `SELECT c.relname AS name, c.relkind = 'i' AS "isIndex", n.nspname = $1 AS "isView",
       pg_total_relation_size(c.oid)::float8 - CASE WHEN c.relkind = 'r' THEN pg_indexes_size(c.oid) ELSE 0 END AS bytes
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'i')
       AND (n.nspname = $1 OR n.nspname = 'angelia' AND c.relname ~ '^(events|idempotency_keys)')
     ORDER BY bytes DESC`,
    [views],
  );
  const [count] = await long.query<{ sessions: number; events: number }>(
    `SELECT (SELECT count(*)::float8 FROM ${views}.sessions) AS sessions, (SELECT count(*)::float8 FROM angelia.events) AS events`,
  );
  const { sessions, events } = count ?? { sessions: 0, events: 0 };
  const bytesOf = (isView: boolean) =>
    relations.filter((relation) => relation.isView === isView).reduce((sum, { bytes }) => sum + bytes, 0);
  return {
    sessions,
    events,
    relations,
    logBytesPerSession: bytesOf(false) / sessions,
    viewBytesPerSession: bytesOf(true) / sessions,
  };
}
