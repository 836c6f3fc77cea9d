// Not `pause` of libs/waiting: a test may have replaced the global timers with fake ones.
import { setTimeout as pause } from 'node:timers/promises';

interface EventuallyOptions {
  /** Default: often at first, then less often. Most checks are requests, and they take time from the system under test. */
  readonly everyMs?: number;
  /** What the test waits for. Part of the failure message. */
  readonly describe?: string | (() => string);
}

/** A wait fails after this long. It is generous, so that a slow machine does not make a test fail. */
const TIMEOUT_MS = 120_000;
const SHORTEST_INTERVAL_MS = 25;
const LONGEST_INTERVAL_MS = 200;
/** The interval grows with the time waited, so the wait ends at most 10% late. */
const INTERVAL_GROWTH = 0.1;

/**
 * Calls `check` until it returns something other than null, undefined and false, and resolves with that. A throw means
 * "not yet". The failure message has the last result or error.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  options: EventuallyOptions = {},
): Promise<Exclude<T, null | undefined | false>> {
  const startedAt = performance.now();
  let last: unknown;
  for (;;) {
    try {
      const result = await check();
      if (result !== null && result !== undefined && result !== false) {
        return result as Exclude<T, null | undefined | false>;
      }
      last = result;
    } catch (error) {
      last = error;
    }
    const waited = performance.now() - startedAt;
    if (waited > TIMEOUT_MS) {
      const wanted = typeof options.describe === 'function' ? options.describe() : options.describe;
      throw new Error(
        `not within ${TIMEOUT_MS} ms: ${wanted ?? check.toString()} (last: ${describe(last)})`,
        {
          cause: last instanceof Error ? last : undefined,
        },
      );
    }
    await pause(
      options.everyMs ??
        Math.min(Math.max(SHORTEST_INTERVAL_MS, waited * INTERVAL_GROWTH), LONGEST_INTERVAL_MS),
    );
  }
}

function describe(result: unknown): string {
  return result instanceof Error ? result.message : String(result);
}
