import type { Logger } from '@angelia/service-kit';

/** How many sessions `forEach` handles at once. At a start, as many commands may be ending at the same time. */
const AT_ONCE = 8;
/** How many of the failed sessions a log line names. */
const NAMED_AT_MOST = 10;

/** The watcher's work that no caller waits for: started once, or repeated. All of it ends with the watcher. */
export class Tasks {
  readonly #logger: Logger;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<void>>();
  readonly #timers: NodeJS.Timeout[] = [];

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Aborted when the watcher shuts down. */
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  /** Lets the work finish before the watcher closes, and logs its error. */
  run(work: Promise<void>): void {
    const safe = work
      .catch((error: unknown) => {
        if (!this.signal.aborted) this.#logger.error({ err: error }, 'a call could not be carried out');
      })
      .finally(() => this.#running.delete(safe));
    this.#running.add(safe);
  }

  /** Repeats the work. A repetition that takes longer than the interval delays the next one: two never overlap. */
  every(ms: number, work: () => Promise<void>): void {
    let isBusy = false;
    const timer = setInterval(() => {
      if (isBusy) return;
      isBusy = true;
      void this.attempt(work).finally(() => {
        isBusy = false;
      });
    }, ms);
    this.#timers.push(timer.unref());
  }

  /** For work that is repeated anyway, so that a failure is not worth more than a debug line. */
  async attempt(work: () => Promise<void>): Promise<void> {
    try {
      if (!this.signal.aborted) await work();
    } catch (error) {
      this.#logger.debug({ err: error }, 'periodic work failed; will be repeated');
    }
  }

  /** Handles several items at once. One that fails does not hold up the others. Returns those that failed. */
  async forEach<T>(items: readonly T[], work: (item: T) => Promise<void>, what: string): Promise<T[]> {
    const failed: T[] = [];
    let reason: unknown;
    const waiting = items.values();
    const takeNext = async (): Promise<void> => {
      for (const item of waiting) {
        if (this.signal.aborted) return;
        try {
          await work(item);
        } catch (error) {
          failed.push(item);
          reason = error;
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, takeNext));
    if (failed.length > 0 && !this.signal.aborted) {
      const sessions = failed.slice(0, NAMED_AT_MOST);
      this.#logger.warn(
        { err: reason, failed: failed.length, of: items.length, sessions },
        `some sessions were not ${what}`,
      );
    }
    return failed;
  }

  /** From here on nothing is begun. */
  stop(): void {
    this.#closing.abort(new Error('process-watcher shuts down'));
    for (const timer of this.#timers) clearInterval(timer);
  }

  /** Resolves when everything that `run` was given has ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }
}
