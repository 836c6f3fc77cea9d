import { Refusal } from '../../http/refusal.ts';

/**
 * Bodies of webhooks that wait for their commit. With Postgres away each is held for some seconds, and a body may have a
 * megabyte where the prompt made of it has a line: the log's own cap, which counts what is appended, does not see them.
 */
const MOST_BYTES = 128 * 1024 * 1024;
const RETRY_AFTER_SECONDS = 5;

export class Committing {
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(mostBytes = MOST_BYTES) {
    this.#mostBytes = mostBytes;
  }

  /** Until `work` is over, also when its sender was told to come again before. @throws Refusal 503 at the cap */
  async hold<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    // One alone is always let in, however large `limits.max_body_bytes` allows it to be.
    if (this.#bytes > 0 && this.#bytes + bytes > this.#mostBytes) {
      throw new Refusal(
        503,
        'overloaded',
        'too many webhooks wait to be made durable: send it again later',
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
