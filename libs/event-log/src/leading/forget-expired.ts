import type { ConnectionPool, Statement } from '../connection/connection-pool.ts';

const ROWS_AT_ONCE = 5_000;
/** The lease tells how old the last sign of life of a lost run is: kept longer than work stays fresh. */
const KEEP_LEASES_DAYS = 7;
/** Long enough for somebody to come back from a holiday and read them. */
const KEEP_DEAD_LETTERS_DAYS = 30;

/** `expired` is checked again for each row that is deleted: a row that is renewed meanwhile stays. */
function forgetStatement(table: string, key: string, orderBy: string, expired: string): Statement {
  return {
    name: `forget_${table}`,
    text: `WITH gone AS (
             DELETE FROM angelia.${table} t WHERE ${expired} AND t.${key} = ANY (ARRAY(
               SELECT t.${key} FROM angelia.${table} t WHERE ${expired} ORDER BY t.${orderBy} LIMIT ${ROWS_AT_ONCE}))
             RETURNING 1)
           SELECT count(*)::int FROM gone`,
  };
}

const STATEMENTS: readonly Statement[] = [
  forgetStatement('idempotency_keys', 'key', 'expires_at', 't.expires_at < now()'),
  // A run that is cancelled under its runner does not give its lease back.
  forgetStatement(
    'leases',
    'resource',
    'expires_at',
    `t.expires_at < now() - interval '${KEEP_LEASES_DAYS} days'`,
  ),
  // A bucket is full again after a minute: a row that nobody used for an hour means the same as no row.
  forgetStatement('rate_limits', 'resource', 'as_of', `t.as_of < now() - interval '1 hour'`),
  forgetStatement('console_sessions', 'digest', 'expires_at', 't.expires_at < now()'),
  forgetStatement('console_links', 'digest', 'expires_at', 't.expires_at < now()'),
  // Letters of streams that are gone or never were (a message that is not a hint). The others go with their session.
  forgetStatement(
    'dead_letters',
    'id',
    'id',
    `t.recorded_at < now() - interval '${KEEP_DEAD_LETTERS_DAYS} days'
       AND NOT EXISTS (SELECT FROM angelia.events e WHERE e.stream_id = t.stream_id)`,
  ),
];

/** Deletes rows that have expired, in small batches. False: there may be more. */
export async function forgetExpired(pool: ConnectionPool): Promise<boolean> {
  let complete = true;
  for (const statement of STATEMENTS) {
    if ((await pool.query(statement, []))[0]?.[0] === ROWS_AT_ONCE) complete = false;
  }
  return complete;
}
