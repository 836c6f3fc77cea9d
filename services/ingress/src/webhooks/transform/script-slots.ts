import { availableParallelism } from 'node:os';

/**
 * How many scripts may run at once in this process: a burst of webhooks becomes a queue, not a burst of processes.
 * Twice the cores, because scripts wait (for an API, a disk) as much as they compute.
 */
const AT_ONCE = Math.max(4, 2 * availableParallelism());
/** A longer wait would leave no time to run and to commit before senders hang up (10 s). */
const LONGEST_WAIT_MS = 2_000;
/** Each one that waits holds a payload of up to `limits.max_body_bytes`. */
const MOST_WAITING = 64;

export class ScriptSlots {
  readonly #atOnce: number;
  readonly #longestWaitMs: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(options: { readonly atOnce?: number; readonly longestWaitMs?: number } = {}) {
    this.#atOnce = options.atOnce ?? AT_ONCE;
    this.#longestWaitMs = options.longestWaitMs ?? LONGEST_WAIT_MS;
  }

  /** Runs the work when a slot is free; null if none becomes free in time: then nothing was run. */
  async run<T>(work: () => Promise<T>): Promise<T | null> {
    if (this.#running < this.#atOnce) this.#running += 1;
    else if (!(await this.#waitForSlot())) return null;
    try {
      return await work();
    } finally {
      // The slot goes straight to the one that has waited longest; it is never free in between.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  #waitForSlot(): Promise<boolean> {
    if (this.#waiting.length >= MOST_WAITING) return Promise.resolve(false);
    return new Promise((resolve) => {
      const take = () => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(take), 1);
        resolve(false);
      }, this.#longestWaitMs);
      this.#waiting.push(take);
    });
  }
}
