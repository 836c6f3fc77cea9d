import type { ContentClass } from '@angelia/config';

/** In characters. Enough to recognise a text; the log has all of it. Collectors refuse requests of some megabytes. */
const LONGEST_TEXT = 8_192;

let classes: ReadonlySet<ContentClass> = new Set();
let scrub: (text: string) => string = (text) => text;

/** Called once at the start. Without it, spans hold no text of a session. */
export function captureContent(of: Iterable<ContentClass>, withoutSecrets: (text: string) => string): void {
  classes = new Set(of);
  scrub = withoutSecrets;
}

/** Whether spans hold texts of this class. */
export function captures(one: ContentClass): boolean {
  return classes.has(one);
}

/** The text as a span holds it: without secrets, and cut if it is long. */
export function captured(text: string): string {
  const clean = scrub(text);
  if (clean.length <= LONGEST_TEXT) return clean;
  return `${clean.slice(0, LONGEST_TEXT).toWellFormed()} [${clean.length - LONGEST_TEXT} more characters]`;
}
