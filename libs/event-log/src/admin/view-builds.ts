import { readFile } from 'node:fs/promises';
import type pg from 'pg';
import { grantRights } from './roles.ts';

/** As in sql/011_prune.sql. */
const PRUNE_LOCK = '6223372036854003';

export function viewsSchema(build: number): string {
  return `angelia_views_${build}`;
}

export function viewsCheckpoint(build: number): string {
  return `views:${build}`;
}

async function template(name: string, build: number): Promise<string> {
  const text = await readFile(new URL(`../sql/views/${name}`, import.meta.url), 'utf8');
  return text.replaceAll(':views', viewsSchema(build));
}

/** A new, empty build beside the active one. In the caller's transaction. */
export async function createBuild(client: pg.ClientBase): Promise<number> {
  // With angelia.prune: it leaves everything alone from now on, or what it took is gone before we read.
  await client.query(`SELECT pg_advisory_xact_lock(${PRUNE_LOCK})`);
  const { rows } = await client.query<{ build: number }>(
    'INSERT INTO angelia.view_builds (build, active) SELECT coalesce(max(build), 0) + 1, false FROM angelia.view_builds RETURNING build',
  );
  const build = rows[0]?.build ?? 1;
  await client.query(await template('tables.sql', build));
  await client.query('INSERT INTO angelia.checkpoints (name) VALUES ($1)', [viewsCheckpoint(build)]);
  await grantRights(client, [viewsSchema(build)]);
  return build;
}

/** Readers see the new build from the commit on; the live projector finds its build no longer active and follows. */
export async function switchTo(client: pg.ClientBase, build: number): Promise<void> {
  await client.query('UPDATE angelia.view_builds SET active = false WHERE active');
  await client.query('UPDATE angelia.view_builds SET active = true WHERE build = $1', [build]);
  await client.query(await template('switch.sql', build));
  await grantRights(client, [viewsSchema(build)]);
}

export async function dropBuild(client: pg.ClientBase, build: number): Promise<void> {
  await client.query(`DROP SCHEMA IF EXISTS ${viewsSchema(build)} CASCADE`);
  await client.query('DELETE FROM angelia.checkpoints WHERE name = $1', [viewsCheckpoint(build)]);
  await client.query('DELETE FROM angelia.view_builds WHERE build = $1', [build]);
}
