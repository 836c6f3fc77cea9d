import { type LongLog, viewsOf } from './long-log.ts';

/** Rows that may die in a table before autovacuum comes, by the settings of the table and of Postgres. */
export async function deadRowsBeforeVacuum({ query }: LongLog, table: string): Promise<number> {
  const setting = (name: string) =>
    `coalesce((SELECT o.option_value FROM pg_options_to_table(c.reloptions) o WHERE o.option_name = '${name}'),
       current_setting('${name}'))::float8`;
  const [row] = await query<{ rows: number }>(
    `SELECT ${setting('autovacuum_vacuum_threshold')} + ${setting('autovacuum_vacuum_scale_factor')} * c.reltuples AS rows
     FROM pg_class c WHERE c.oid = $1::regclass`,
    [table],
  );
  return Math.round(row?.rows ?? 0);
}

/** Autovacuum comes when it likes: what it leaves is measured without it, right before and right after it would come. */
export async function holdAutovacuum(long: LongLog): Promise<void> {
  const views = await viewsOf(long);
  for (const table of ['angelia.events', `${views}.sessions`, `${views}.deliveries`])
    await long.query(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`);
}

/** Milliseconds. */
export async function vacuum({ query }: LongLog, table: string): Promise<number> {
  const start = performance.now();
  await query(`VACUUM ${table}`);
  return performance.now() - start;
}

/** As many sessions as go through their states at the same time. */
const AT_ONCE = 1_000;
/** A session's row is written when it is queued, run, delivered and settled, and each time the row before is dead. */
const STATES = [
  'settled = false, run_due_at = clock_timestamp()',
  'running = true, run_due_at = NULL',
  'running = false, delivery_due_at = clock_timestamp()',
  'delivery_due_at = NULL, settled = true',
];
/** The newest ones, in turn: those at work are near each other in the table. */
const NEWEST = 20_000;

/**
 * Leaves `rows` dead rows in the view of sessions, in the same indexes as the projection leaves them when sessions go
 * through their states. No event is appended.
 */
export async function leaveDeadRows(long: LongLog, rows: number): Promise<void> {
  const views = await viewsOf(long);
  const newest = await long.query<{ session_id: string }>(
    `SELECT session_id FROM ${views}.sessions WHERE settled ORDER BY session_id DESC LIMIT ${NEWEST}`,
  );
  const ids = newest.map((row) => row.session_id);
  for (let dead = 0, from = 0; dead < rows; dead += AT_ONCE * STATES.length, from += AT_ONCE) {
    const some = ids.slice(from % ids.length, (from % ids.length) + AT_ONCE);
    for (const state of STATES)
      await long.query(`UPDATE ${views}.sessions SET ${state} WHERE session_id = ANY ($1)`, [some]);
  }
}
