import pg from 'pg';
import { wrongCluster } from '../connection/check-cluster.ts';
import { toLogError } from '../connection/postgres-errors.ts';
import { queries, runOn } from '../connection/query-builder.ts';
import { VIEWS_VERSION } from '../connection/schema.ts';
import { MigrationMismatch } from '../errors.ts';
import { viewsSchema } from '../views/build-names.ts';
import { type Migration, readMigrations } from './migration-files.ts';
import { ensureRoles, grantRights, MIGRATOR_ROLE } from './roles.ts';
import { activeBuild, createBuild, dropOrphanedCheckpoints, switchTo, widenBuild } from './view-builds.ts';

interface MigrateOptions {
  readonly url: string;
}

interface MigrateResult {
  /** Names of the migrations that this call applied. */
  readonly applied: string[];
  /** What is not as it should be although the work goes on, one line each. */
  readonly warnings: string[];
}

/** Any number that nobody else locks in this database. */
const MIGRATE_LOCK = '6223372036854001';
/** Only connecting has a limit: a migration of a large log may take long, and so may waiting for another migrate. */
const CONNECT_MS = 10_000;

/** Brings the schema up to date. Idempotent, and safe when several processes run it at the same time. */
export async function migrate(options: MigrateOptions): Promise<MigrateResult> {
  return asMigrator(options.url, async (client, warnings) => {
    const applied = await applyMigrations(client);
    const cluster = await readCluster(client);
    if (cluster.known !== cluster.actual) throw wrongCluster(cluster.known, cluster.actual);
    await ensureViews(client);
    return { applied, warnings };
  });
}

/** After a restore into another cluster, with all services stopped. Old rows stay visible; new ones come after them. */
export async function raiseEpoch(options: MigrateOptions): Promise<{ epoch: number; warnings: string[] }> {
  return asMigrator(options.url, async (client, warnings) => {
    await applyMigrations(client);
    const { rows } = await client.query<{ epoch: number }>(
      `UPDATE angelia.cluster SET epoch = epoch + 1, system_identifier = (pg_control_system()).system_identifier
       RETURNING epoch`,
    );
    // No process of the old cluster works here. Lost runs are still judged by when their holders were last alive.
    await client.query('UPDATE angelia.leases SET expires_at = least(expires_at, clock_timestamp())');
    await client.query("UPDATE angelia.leaders SET expires_at = '-infinity'");
    await ensureViews(client);
    return { epoch: rows[0]?.epoch ?? 1, warnings };
  });
}

/** One connection under the migration lock, as the role that owns the schema if possible. */
export async function asMigrator<T>(
  url: string,
  work: (client: pg.Client, warnings: string[]) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'angelia-migrate',
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
  });
  client.on('error', () => {}); // The running query rejects too. Without a listener the process would end.
  try {
    await client.connect();
    await client.query(`SELECT pg_advisory_lock(${MIGRATE_LOCK})`);
    const warnings: string[] = [];
    const missing = await ensureRoles(client);
    if (missing !== null) warnings.push(missing);
    await takeOwner(client, missing === null, warnings);
    return await work(client, warnings);
  } catch (error) {
    throw toLogError(error);
  } finally {
    await client.end().catch(() => {}); // Also releases the lock.
  }
}

async function takeOwner(client: pg.Client, hasRoles: boolean, warnings: string[]): Promise<void> {
  const { rows } = await client.query<{ owner: string }>(
    "SELECT pg_get_userbyid(nspowner) AS owner FROM pg_namespace WHERE nspname = 'angelia'",
  );
  const owner = rows[0]?.owner;
  if (hasRoles && (owner === undefined || owner === MIGRATOR_ROLE)) {
    await letMigratorCreate(client, { isNew: owner === undefined, warnings });
    await client.query(`SET ROLE ${MIGRATOR_ROLE}`);
  } else if (hasRoles && owner !== undefined) {
    warnings.push(
      `the schema angelia belongs to ${owner}, not to ${MIGRATOR_ROLE}; continuing with the login's own rights; ` +
        `to change that, run REASSIGN OWNED BY "${owner}" TO ${MIGRATOR_ROLE}`,
    );
  }
  if (owner === undefined) await client.query('CREATE SCHEMA angelia');
}

/** A restored dump or a copied database has the schema, but not the rights on the database that a rebuild needs. */
async function letMigratorCreate(
  client: pg.Client,
  { isNew, warnings }: { isNew: boolean; warnings: string[] },
): Promise<void> {
  const { rows } = await client.query<{ name: string; has: boolean; can: boolean }>(
    `SELECT quote_ident(current_database()) AS name,
       has_database_privilege('${MIGRATOR_ROLE}', current_database(), 'CREATE') AS has,
       has_database_privilege(current_database(), 'CREATE WITH GRANT OPTION') AS can`,
  );
  const { name, has, can } = rows[0] as { name: string; has: boolean; can: boolean };
  const grant = `GRANT CREATE ON DATABASE ${name} TO ${MIGRATOR_ROLE}`;
  if (has) return;
  if (isNew || can) await client.query(grant);
  else warnings.push(`views cannot be rebuilt until the owner of the database runs ${grant}`);
}

async function applyMigrations(client: pg.Client): Promise<string[]> {
  await client.query(
    `CREATE TABLE IF NOT EXISTS angelia.migrations (
       number int PRIMARY KEY, name text NOT NULL, checksum text NOT NULL,
       applied_at timestamptz NOT NULL DEFAULT clock_timestamp())`,
  );
  const known = await runOn(
    client,
    queries.selectFrom('angelia.migrations').select(['number', 'name', 'checksum']).orderBy('number'),
  );
  const migrations = await readMigrations();
  for (const row of known) {
    const same = migrations.find((migration) => migration.number === row.number);
    // Unknown ones come from a newer program, whose migrations keep what older programs need.
    if (same && same.checksum !== row.checksum) {
      throw new MigrationMismatch(
        `the migration ${row.name} differs from the one that was applied to this database: ` +
          'restore that file, and put the change into a new migration',
      );
    }
  }
  const applied: string[] = [];
  for (const migration of migrations) {
    if (known.some((row) => row.number === migration.number)) continue;
    await inTransaction(client, () => apply(client, migration));
    applied.push(migration.name);
  }
  await client.query(
    `INSERT INTO angelia.cluster (system_identifier)
     SELECT (pg_control_system()).system_identifier ON CONFLICT DO NOTHING`,
  );
  return applied;
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  await client.query(migration.text);
  await client.query('INSERT INTO angelia.migrations (number, name, checksum) VALUES ($1, $2, $3)', [
    migration.number,
    migration.name,
    migration.checksum,
  ]);
}

async function ensureViews(client: pg.Client): Promise<void> {
  await inTransaction(client, async () => {
    const active = await activeBuild(client);
    if (active === undefined) {
      await switchTo(client, await createBuild(client));
      return;
    }
    if (active.version < VIEWS_VERSION) await widenBuild(client, active.build);
    await dropOrphanedCheckpoints(client);
    await grantRights(client, [viewsSchema(active.build)]);
  });
}

async function readCluster(client: pg.Client): Promise<{ known: string; actual: string }> {
  const { rows } = await client.query<{ known: string; actual: string }>(
    `SELECT system_identifier::text AS known, (SELECT system_identifier::text FROM pg_control_system()) AS actual
     FROM angelia.cluster`,
  );
  return rows[0] ?? { known: '', actual: '' };
}

export async function inTransaction<T>(client: pg.ClientBase, work: () => Promise<T>): Promise<T> {
  await client.query('BEGIN');
  try {
    const result = await work();
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {}); // The first error is the one to report.
    throw error;
  }
}
