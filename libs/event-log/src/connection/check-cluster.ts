import type pg from 'pg';
import { NotMigrated, WrongCluster } from '../errors.ts';

/** The newest migration that this program needs. The program waits for an older schema, and accepts a newer one. */
export const NEEDED_MIGRATION = 19;

/** Runs once per connection, so that a database that is swapped under a running service is refused too. */
export async function checkCluster(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ known: string; actual: string; migration: number }>(
    `SELECT c.system_identifier::text AS known, (pg_control_system()).system_identifier::text AS actual,
            (SELECT max(number) FROM angelia.migrations) AS migration
     FROM angelia.cluster c`,
  );
  const found = rows[0];
  if (!found || found.migration < NEEDED_MIGRATION) {
    throw new NotMigrated('the schema angelia is older than this program: run migrate');
  }
  if (found.known !== found.actual) throw wrongCluster(found.known, found.actual);
}

export function wrongCluster(known: string, actual: string): WrongCluster {
  return new WrongCluster(
    `this log was written in the Postgres cluster ${known}, and this is cluster ${actual}: ` +
      'stop all services, then run `node dist/migrate.js --raise-epoch`',
  );
}
