/**
 * Deeper than any arguments that a tool has. Whatever writes or checks a value calls itself once per level, so a model could
 * use up the stack, in this run and in every later one that reads its transcript.
 */
const MOST_LEVELS = 100;

/** Whether a parsed value has more levels than that. */
export function nestsTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MOST_LEVELS) return true;
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []));
  }
  return false;
}
