import { readFile } from 'node:fs/promises';
import type pg from 'pg';
import { queries, runOn } from '../connection/query-builder.ts';
import { VIEWS_VERSION } from '../connection/schema.ts';
import { viewsCheckpoint, viewsSchema } from '../views/build-names.ts';
import { grantRights } from './roles.ts';

/** The same number as in sql/011_prune.sql. */
const PRUNE_LOCK = '6223372036854003';

async function template(name: string, build: number): Promise<string> {
  const text = await readFile(new URL(`../sql/views/${name}`, import.meta.url), 'utf8');
  return text.replaceAll(':views', viewsSchema(build));
}

export async function activeBuild(
  client: pg.ClientBase,
): Promise<{ readonly build: number; readonly version: number } | undefined> {
  const query = queries
    .selectFrom('angelia.view_builds')
    .select(['build', 'version'])
    .where((where) => where.ref('active'));
  return (await runOn(client, query))[0];
}

export async function unfinishedBuilds(client: pg.ClientBase): Promise<number[]> {
  const query = queries
    .selectFrom('angelia.view_builds')
    .select('build')
    .where((where) => where.not('active'));
  return (await runOn(client, query)).map(({ build }) => build);
}

/** A new, empty build beside the active one. Runs in the caller's transaction. */
export async function createBuild(client: pg.ClientBase): Promise<number> {
  // Shared with angelia.prune: from now on it deletes nothing, and what it deleted is gone before we read.
  await client.query(`SELECT pg_advisory_xact_lock(${PRUNE_LOCK})`);
  const { rows } = await client.query<{ build: number }>(
    `INSERT INTO angelia.view_builds (build, active, version)
     SELECT coalesce(max(build), 0) + 1, false, ${VIEWS_VERSION} FROM angelia.view_builds RETURNING build`,
  );
  const build = rows[0]?.build ?? 1;
  await client.query(await template('tables.sql', build));
  const checkpoint = viewsCheckpoint({ build, version: VIEWS_VERSION });
  await client.query('INSERT INTO angelia.checkpoints (name) VALUES ($1)', [checkpoint]);
  await grantRights(client, [viewsSchema(build)]);
  return build;
}

/** So that this program can write into a build of an earlier version. */
export async function widenBuild(client: pg.ClientBase, build: number): Promise<void> {
  await client.query(await template('widen.sql', build));
  // A view has the columns that its table had when the view was made.
  await client.query(await template('switch.sql', build));
}

/** Readers see the new build from the commit on. The live projector finds that its build is not active and follows. */
export async function switchTo(client: pg.ClientBase, build: number): Promise<void> {
  await client.query('UPDATE angelia.view_builds SET active = false WHERE active');
  await client.query('UPDATE angelia.view_builds SET active = true WHERE build = $1', [build]);
  await client.query(await template('switch.sql', build));
  await grantRights(client, [viewsSchema(build)]);
}

export async function dropBuild(client: pg.ClientBase, build: number): Promise<void> {
  await client.query(`DROP SCHEMA IF EXISTS ${viewsSchema(build)} CASCADE`);
  await client.query('DELETE FROM angelia.view_builds WHERE build = $1', [build]);
  await dropOrphanedCheckpoints(client);
}

/** A program of version 1 that drops a newer build leaves its checkpoint behind. Nothing is pruned beyond a checkpoint. */
export async function dropOrphanedCheckpoints(client: pg.ClientBase): Promise<void> {
  await client.query(
    `DELETE FROM angelia.checkpoints c WHERE c.name LIKE 'views:%'
       AND NOT EXISTS (SELECT FROM angelia.view_builds b WHERE split_part(c.name, ':', 2) = b.build::text)`,
  );
}
