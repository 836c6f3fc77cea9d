import { setTimeout as pause } from 'node:timers/promises';

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

/**
 * Tries again as long as a retry can help (Postgres is away): what has happened on this host must get into the log.
 * Throws when this watcher goes down; the files on disk are for the next one.
 */
export async function untilDone<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Error && 'retryable' in error && error.retryable === true)) throw error;
      await pause(wait, undefined, { signal });
    }
  }
}
