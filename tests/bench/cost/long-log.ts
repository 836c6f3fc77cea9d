import { type EventLog, openEventLog } from '@angelia/event-log';
import { migrate } from '@angelia/event-log/admin';
import { startPostgres } from '@angelia/local';
import pg from 'pg';

/** A log in a Postgres of its own, so that the pages of one do not push those of the other out of its buffers. */
export interface LongLog {
  readonly url: string;
  /** As the services use it. */
  readonly log: EventLog;
  /** As the owner of the tables, without time limits. */
  query<Row extends pg.QueryResultRow = pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

export async function openLongLog(dataDir: string): Promise<LongLog> {
  const postgres = await startPostgres({ dataDir });
  await migrate({ url: postgres.url });
  const log = openEventLog({ url: postgres.url, instance: 'bench', holder: 'bench#1' });
  const owner = new pg.Client({
    connectionString: postgres.url,
    // Nobody waits for the fill. Vacuum is measured without its pauses.
    options: '-c synchronous_commit=off -c vacuum_cost_delay=0',
  });
  await owner.connect();
  return {
    url: postgres.url,
    log,
    query: async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) =>
      (await owner.query<Row>(text, values)).rows,
    close: async () => {
      await log.close();
      await owner.end();
      await postgres.stop();
    },
  };
}

/** The schema of the active build of the views. */
export async function viewsOf({ query }: LongLog): Promise<string> {
  const [row] = await query<{ build: number }>('SELECT build FROM angelia.view_builds WHERE active');
  return `angelia_views_${row?.build}`;
}
