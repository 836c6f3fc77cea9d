/** The tables of one build of the views are in a schema of their own. */
export function viewsSchema(build: number): string {
  return `angelia_views_${build}`;
}

export function viewsCheckpoint(build: number): string {
  return `views:${build}`;
}
