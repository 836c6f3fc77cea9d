import type { ServerResponse } from 'node:http';

/** A browser takes a file within a moment, also by a slow line. After this long it may have to give way. */
const SLOW_MS = 5_000;

/**
 * Files that are on their way to a browser. Anybody can ask for them and then read slowly, and each holds a file and a
 * buffer: at the limit, the oldest one that is slow is closed for a new one (invariant strangers-cost-little).
 */
export class Downloads {
  readonly #startedAt = new Map<ServerResponse, number>();
  readonly #most: number;
  readonly #slowMs: number;

  constructor(most: number, slowMs = SLOW_MS) {
    this.#most = most;
    this.#slowMs = slowMs;
  }

  get size(): number {
    return this.#startedAt.size;
  }

  /** False: there is no place now. */
  begin(response: ServerResponse): boolean {
    const now = performance.now();
    if (this.#startedAt.size >= this.#most) {
      // The first one is the oldest.
      const [[oldest, since] = []] = this.#startedAt;
      if (oldest === undefined || since === undefined || now - since < this.#slowMs) return false;
      this.#startedAt.delete(oldest);
      oldest.destroy();
    }
    this.#startedAt.set(response, now);
    response.once('close', () => this.#startedAt.delete(response));
    return true;
  }
}
