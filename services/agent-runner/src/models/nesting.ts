/**
 * Deeper than the arguments of any tool. Code that writes or checks a value recurses once per level, so a model could exhaust
 * the stack, in this run and in every later run that reads the transcript.
 */
const MOST_LEVELS = 100;

/** Whether a parsed value has more levels than the limit. */
export function nestsTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MOST_LEVELS) return true;
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []));
  }
  return false;
}
