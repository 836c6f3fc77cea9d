import { pause } from '@angelia/waiting';
import { messageOf } from '../connection/postgres-errors.ts';
import { LogUnavailable } from '../errors.ts';

/** Between two tries. Short beside the seconds that Postgres takes to start. */
const TRY_AGAIN_MS = 500;
/** Often enough for a person who watches the start, and only a few lines a minute in a log. */
const SAY_AGAIN_MS = 15_000;

/**
 * Repeats the work while Postgres is away (not listening yet, starting up, in recovery), up to the limit. The limit is for
 * a server that never comes: then this program fails, and whoever waits for it finds out.
 * @throws what the work throws: at once if it is not an outage, LogUnavailable when the limit is over.
 */
export async function waitForPostgres<T>(
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
