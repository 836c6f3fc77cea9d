/**
 * The version of the views: of their tables, and of what the projection writes into them. Raise it with every change of
 * sql/views/tables.sql, of `SessionState` and of `projectSession` that older rows would need too. A build of a lower version
 * is rebuilt by itself while the services work (admin/upgrade-views.ts). Until then the new program writes into the old
 * build, so sql/views/widen.sql adds new columns to it.
 */
export const VIEWS_VERSION = 2;

/** The tables of one build of the views are in a schema of their own. */
export function viewsSchema(build: number): string {
  return `angelia_views_${build}`;
}

/**
 * The version is a part of the name. A program of version 1 looks for `views:<build>`, finds nothing to claim in a newer
 * build, and so never writes rows of the old form into it.
 */
export function viewsCheckpoint({ build, version }: { build: number; version: number }): string {
  return version === 1 ? `views:${build}` : `views:${build}:v${version}`;
}
