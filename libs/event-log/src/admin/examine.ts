import { sql } from 'kysely';
import type pg from 'pg';
import { NEEDED_MIGRATION } from '../connection/check-cluster.ts';
import { PRUNER_ROLE, SERVICE_ROLE } from '../connection/database.ts';
import { queries, runOn } from '../connection/query-builder.ts';
import { HEALTH_AGES, type LogHealth, toLogHealth } from '../diagnostics/health.ts';
import { type DoctorOptions, withDoctorConnection } from './doctor-connection.ts';
import { canTakeRole } from './roles.ts';

/** What `angelia doctor` reads from Postgres: facts only, no judgement. */
export interface ExaminedDatabase {
  /** As `server_version_num`: 140005 is 14.5. */
  readonly version: number;
  readonly versionText: string;
  /** True for a replica: nothing can be written here. */
  readonly inRecovery: boolean;
  /** By name, with units as Postgres shows them. Absent: this version has no such setting. */
  readonly settings: Readonly<Record<string, string>>;
  /** 0: an idle transaction is never ended. */
  readonly idleInTransactionMs: number;
  readonly connections: { readonly most: number; readonly reserved: number; readonly open: number };
  /** Whether the login may take them. Also false if they do not exist. */
  readonly roles: Readonly<Record<string, boolean>>;
  /** Null: our schema is not there. */
  readonly schema: ExaminedSchema | null;
  /** Open transactions that have written. Until they end, the tail of the log stops before them. */
  readonly writers: readonly OpenWriter[];
  /** The database's clock minus ours, at the middle of the round trip. Accurate to half of it. */
  readonly clockAheadMs: number;
  readonly roundTripMs: number;
}

export interface ExaminedSchema {
  readonly migration: number;
  readonly neededMigration: number;
  /** Null: the schema is too old to have it. */
  readonly cluster: { readonly known: string; readonly actual: string; readonly epoch: number } | null;
  /** Null: the schema is too old to ask, or belongs to another cluster. */
  readonly health: LogHealth | null;
  /** Who leads what, without expired leads. */
  readonly leaders: readonly { readonly name: string; readonly holder: string }[];
}

export interface OpenWriter {
  /** Null: a prepared transaction, which belongs to no connection. */
  readonly pid: number | null;
  readonly user: string;
  readonly application: string;
  readonly database: string;
  readonly state: string;
  /** Null: the login may not see it, because it is another user's connection. */
  readonly openMs: number | null;
}

/** Connections of one service process: appends and reads (3), the rest (4), one to prune with. */
export const CONNECTIONS_PER_SERVICE = 8;

const SETTINGS = ['fsync', 'full_page_writes', 'synchronous_commit'];
const NO_SCHEMA = new Set(['3F000', '42P01', '42703', '42883']);

/** @throws LogError when Postgres cannot be reached or refuses the login */
export function examineDatabase({
  now,
  ...options
}: DoctorOptions & { readonly now: () => number }): Promise<ExaminedDatabase> {
  return withDoctorConnection(options, (client) => readFacts(client, now));
}

async function readFacts(client: pg.Client, now: () => number): Promise<ExaminedDatabase> {
  const clock = await readClock(client, now);
  const { rows } = await client.query<{
    version: number;
    text: string;
    recovering: boolean;
    idle: string;
    most: number;
    reserved: number;
    open: number;
  }>(`SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS text,
        pg_is_in_recovery() AS recovering,
        (SELECT setting FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout') AS idle,
        current_setting('max_connections')::int AS most,
        current_setting('superuser_reserved_connections')::int
          + coalesce(current_setting('reserved_connections', true), '0')::int AS reserved,
        (SELECT count(*)::int FROM pg_stat_activity
         WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()) AS open`);
  const server = rows[0];
  if (server === undefined) throw new Error('Postgres returned no facts about itself');
  const { rows: settings } = await client.query<{ name: string; setting: string }>(
    'SELECT name, setting FROM pg_settings WHERE name = ANY ($1)',
    [SETTINGS],
  );
  return {
    version: server.version,
    versionText: server.text,
    inRecovery: server.recovering,
    settings: Object.fromEntries(settings.map(({ name, setting }) => [name, setting])),
    idleInTransactionMs: Number(server.idle),
    connections: { most: server.most, reserved: server.reserved, open: server.open },
    roles: {
      [SERVICE_ROLE]: await canTakeRole(client, SERVICE_ROLE),
      [PRUNER_ROLE]: await canTakeRole(client, PRUNER_ROLE),
    },
    schema: await readSchema(client),
    writers: await openWriters(client),
    ...clock,
  };
}

async function readClock(
  client: pg.Client,
  now: () => number,
): Promise<Pick<ExaminedDatabase, 'clockAheadMs' | 'roundTripMs'>> {
  const askedAt = performance.now();
  const before = now();
  const { rows } = await client.query<{ ms: number }>(
    "SELECT date_part('epoch', clock_timestamp()) * 1000 AS ms",
  );
  const roundTripMs = performance.now() - askedAt;
  return { clockAheadMs: Math.round((rows[0]?.ms ?? 0) - (before + roundTripMs / 2)), roundTripMs };
}

async function readSchema(client: pg.Client): Promise<ExaminedSchema | null> {
  const migration = await orNull(async () => {
    const query = queries
      .selectFrom('angelia.migrations')
      .select(({ fn }) => fn.max<number | null>('number').as('migration'));
    return (await runOn(client, query))[0]?.migration ?? 0;
  });
  if (migration === null) return null;
  const cluster = await orNull(async () => {
    const query = queries
      .selectFrom('angelia.cluster')
      .select([
        sql<string>`system_identifier::text`.as('known'),
        sql<string>`(SELECT system_identifier::text FROM pg_control_system())`.as('actual'),
        'epoch',
      ]);
    return (await runOn(client, query))[0] ?? null;
  });
  const usable = migration >= NEEDED_MIGRATION && cluster !== null && cluster.known === cluster.actual;
  return {
    migration,
    neededMigration: NEEDED_MIGRATION,
    cluster,
    health: usable
      ? toLogHealth(
          Object.values((await client.query<Record<string, unknown>>(HEALTH_AGES)).rows[0] ?? {}).map(number),
        )
      : null,
    leaders: usable
      ? await runOn(
          client,
          queries
            .selectFrom('angelia.leaders')
            .select(['name', 'holder'])
            .where('expires_at', '>', sql<Date>`clock_timestamp()`)
            .orderBy('name'),
        )
      : [],
  };
}

/** Here a count arrives as text. */
function number(value: unknown): number | null {
  return value === null ? null : Number(value);
}

async function openWriters(client: pg.Client): Promise<OpenWriter[]> {
  const { rows } = await client.query<{
    pid: number | null;
    user: string;
    application: string;
    database: string;
    state: string;
    open: number | null;
  }>(
    `SELECT pid, coalesce(usename::text, '?') AS user, coalesce(application_name, '') AS application,
            coalesce(datname::text, '?') AS database, coalesce(state, 'not ours to see') AS state,
            date_part('epoch', clock_timestamp() - xact_start) * 1000 AS open
     FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()
     UNION ALL
     SELECT NULL, owner::text, gid, database::text, 'prepared', date_part('epoch', clock_timestamp() - prepared) * 1000
     FROM pg_prepared_xacts`,
  );
  return rows.map(({ open, ...writer }) => ({ ...writer, openMs: open === null ? null : Math.round(open) }));
}

/** Null if what is asked for is not there (yet). */
async function orNull<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask();
  } catch (error) {
    if (NO_SCHEMA.has(String((error as { code?: unknown }).code))) return null;
    throw error;
  }
}
