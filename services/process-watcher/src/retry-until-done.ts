import { isRetryable } from '@angelia/contracts';
import { pause } from '@angelia/waiting';

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

/**
 * Repeats the work as long as a retry can help, for example while Postgres is down: what happened on this host must get
 * into the log. Throws when this watcher is shutting down; the next one continues from the files on disk.
 */
export async function retryUntilDone<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (!isRetryable(error)) throw error;
      await pause(wait, signal);
    }
  }
}
