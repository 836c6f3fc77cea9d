import { setTimeout as pause } from 'node:timers/promises';

export interface EventuallyOptions {
  /** Default: often at first, then less and less, as most looks are requests and cost what the system under test needs. */
  readonly everyMs?: number;
  /** What was waited for, for whoever reads the failure. */
  readonly describe?: string | (() => string);
}

/** A test that waits in vain fails after this long. A slow machine must not make it fail. */
const PATIENCE_MS = 120_000;
const MOST_OFTEN_MS = 25;
const LEAST_OFTEN_MS = 200;
/** Of the time that it has waited: what it waits for is seen at most this much later. */
const LATER = 0.1;

/**
 * Looks until it sees something: resolves with the first result that is neither null, undefined nor false. A throw
 * means "not yet" and is part of the failure's message, so that a wait that ends in vain says what it last saw.
 */
export async function eventually<T>(
  look: () => T | Promise<T>,
  options: EventuallyOptions = {},
): Promise<Exclude<T, null | undefined | false>> {
  const begun = performance.now();
  let last: unknown;
  for (;;) {
    try {
      const seen = await look();
      if (seen !== null && seen !== undefined && seen !== false) {
        return seen as Exclude<T, null | undefined | false>;
      }
      last = seen;
    } catch (error) {
      last = error;
    }
    const waited = performance.now() - begun;
    if (waited > PATIENCE_MS) {
      const wanted = typeof options.describe === 'function' ? options.describe() : options.describe;
      throw new Error(
        `not within ${PATIENCE_MS} ms: ${wanted ?? look.toString()} (last: ${describe(last)})`,
        {
          cause: last instanceof Error ? last : undefined,
        },
      );
    }
    await pause(options.everyMs ?? Math.min(Math.max(MOST_OFTEN_MS, waited * LATER), LEAST_OFTEN_MS));
  }
}

function describe(seen: unknown): string {
  return seen instanceof Error ? seen.message : String(seen);
}
