import pg from 'pg';
import { toLogError } from '../connection/postgres-errors.ts';

export interface DoctorOptions {
  readonly url: string;
  /** For connecting and for each statement. */
  readonly timeoutMs: number;
}

/**
 * One connection of `angelia doctor`, for as long as `ask` takes. It has the login's own rights, and none of the checks that
 * services make at the start: doctor also looks at databases that they refuse.
 *
 * @throws LogError when Postgres cannot be reached, refuses the login or a statement, or is too slow
 */
export async function withDoctorConnection<T>(
  { url, timeoutMs }: DoctorOptions,
  ask: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'angelia-doctor',
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    statement_timeout: timeoutMs,
  });
  client.on('error', () => {}); // The running query rejects too. Without a listener the process would end.
  try {
    await client.connect();
    return await ask(client);
  } catch (error) {
    throw toLogError(error);
  } finally {
    await client.end().catch(() => {}); // The connection is gone already.
  }
}
