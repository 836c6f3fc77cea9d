/** Where to go after the sign-in: a page of the console, never another place that somebody put into the link. */
export function returnPath(next: string | undefined): string {
  if (next === undefined || !/^\/(?![/\\])/.test(next) || next.startsWith('/sign-in')) return '/';
  return next.replace(/^\/console(?=\/|$)/, '') || '/';
}
