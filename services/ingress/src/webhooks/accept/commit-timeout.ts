/**
 * How long a sender waits for its commit before it is told to come again. Senders hang up after some 10 s (GitHub), and
 * one that hung up never reads the 503. A Postgres that is frozen or cut off answers nothing, and the log's own limits
 * are longer (measured: 20 s). An honest commit takes milliseconds.
 */
export const ACCEPT_PATIENCE_MS = 4_000;

/** Answered 503: send it again. What came of this one will be known then. */
export class CommitUnknown extends Error {
  readonly code = 'commit_unknown';
  readonly retryable = true;
  override readonly name = 'CommitUnknown';
}

/**
 * The work itself is not undone: it may still be committed. The sender repeats with the same delivery id, and gets the
 * session that came of it (invariant one-delivery-one-session).
 */
export function withPatience<T>(patienceMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new CommitUnknown(`no commit within ${patienceMs} ms: it may still come`)),
      patienceMs,
    );
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
