/** Times are milliseconds everywhere in the domain. Only event data holds ISO strings. */
export function iso(ms: number): string {
  return new Date(ms).toISOString();
}

/**
 * Parses a time from event data. An invalid one becomes 0, long past: a missing timestamp must never count as "fresh"
 * (seed 002), and NaN would not survive the JSON of a stored state.
 */
export function ms(text: string): number {
  const parsed = Date.parse(text);
  return Number.isNaN(parsed) ? 0 : parsed;
}

export function msOrNull(text: string | null | undefined): number | null {
  return text === null || text === undefined ? null : ms(text);
}

export function seconds(count: number): number {
  return count * 1000;
}
