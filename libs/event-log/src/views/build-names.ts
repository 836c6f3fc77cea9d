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
