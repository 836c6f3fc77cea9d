import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../connection/postgres-errors.ts';
import { LogUnavailable } from '../errors.ts';

/** Between two tries: short beside the seconds that a start of Postgres takes. */
const TRY_AGAIN_MS = 500;
/** Often enough for whoever watches a start, and a few lines a minute in a log. */
const SAY_AGAIN_MS = 15_000;

/**
 * Does the work again as long as Postgres is away (not listening yet, starting up, in recovery), up to the limit. The
 * limit is for a server that never comes: whoever waits for this program then learns that it failed.
 * @throws what the work throws: at once when it is no outage, and LogUnavailable when the limit is over.
 */
export async function untilAvailable<T>(
  work: () => Promise<T>,
  options: { readonly limitSeconds: number; readonly say: (line: string) => void },
): Promise<T> {
  const startedAt = performance.now();
  const giveUpAt = startedAt + options.limitSeconds * 1000;
  let sayAt = startedAt;
  let said = '';
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const now = performance.now();
      if (!(error instanceof LogUnavailable) || now >= giveUpAt) throw error;
      const why = messageOf(error.cause ?? error);
      if (why !== said || now >= sayAt) {
        options.say(`waiting for Postgres (${why}), for ${Math.ceil((giveUpAt - now) / 1000)} s at most`);
        said = why;
        sayAt = now + SAY_AGAIN_MS;
      }
    }
    await pause(TRY_AGAIN_MS);
  }
}
