/**
 * Settles as `work` does, or rejects with the signal's reason as soon as the signal is aborted. For work that does not
 * watch the signal itself, such as a tool or a connection that many callers share: it goes on, but nobody waits for it.
 */
export function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
