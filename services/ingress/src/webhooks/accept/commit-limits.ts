import { AngeliaError } from '@angelia/contracts';
import { Refusal } from '../../http/refusal.ts';

/**
 * How long a sender waits for the commit before it is told to try again. Senders hang up after about 10 s (GitHub), and
 * one that hung up never reads the 503. A Postgres that is frozen or cut off does not answer, and the log's own limits
 * are longer (measured: 20 s). A normal commit takes milliseconds.
 */
export const COMMIT_TIMEOUT_MS = 4_000;

/** Answered with 503. The sender sends the webhook again and then learns what became of this one. */
class CommitUnknown extends AngeliaError {
  readonly code = 'commit_unknown';
  readonly retryable = true;
  override readonly name = 'CommitUnknown';
}

/**
 * Does not undo the work: it may still commit. The sender repeats with the same delivery id and gets the session that
 * came of it (invariant one-delivery-one-session).
 */
export function withCommitTimeout<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new CommitUnknown(`no commit within ${timeoutMs} ms; it may still come`)),
      timeoutMs,
    );
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/**
 * The log's own cap counts what is appended. It does not see the bodies: one may have a megabyte while its prompt has one
 * line. Without Postgres each body is held for some seconds.
 */
const MOST_BYTES = 128 * 1024 * 1024;
const RETRY_AFTER_SECONDS = 5;

/** Bounds the memory of webhook bodies that wait for their commit. */
export class UncommittedBodies {
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(mostBytes = MOST_BYTES) {
    this.#mostBytes = mostBytes;
  }

  /** Counts the bytes until `work` is over, even if the sender was told earlier to try again. @throws Refusal 503 at the cap */
  async hold<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    // One body alone is always let in, however large `limits.max_body_bytes` allows it to be.
    if (this.#bytes > 0 && this.#bytes + bytes > this.#mostBytes) {
      throw new Refusal(
        503,
        'overloaded',
        'too many webhooks are waiting to be stored: send it again later',
        RETRY_AFTER_SECONDS,
      );
    }
    this.#bytes += bytes;
    try {
      return await work();
    } finally {
      this.#bytes -= bytes;
    }
  }
}
