/** The longest time that a Node timer can wait, in milliseconds (25 days). A longer one would fire at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Waits for `ms`, or until the signal is aborted: then it resolves early and does not throw. Check the signal after it. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, Math.min(ms, LONGEST_TIMER_MS));
    signal?.addEventListener('abort', done, { once: true });
  });
}
