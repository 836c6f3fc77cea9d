import { LONGEST_TIMER_MS } from './pause.ts';

/**
 * Wakes a loop that waits. A call of `wake` while nobody waits makes the next `wait` return at once, so no wake-up is lost.
 * Several calls before one `wait` count as one.
 */
export class WakeUp {
  #woken = false;
  #waiting: (() => void) | undefined;

  wake(): void {
    this.#woken = true;
    this.#waiting?.();
  }

  /** True if it was woken; false if the time ran out or the signal was aborted. */
  async wait(timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    if (!this.#woken && !signal?.aborted) {
      await new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', done);
          this.#waiting = undefined;
          resolve();
        };
        const timer = setTimeout(done, Math.min(timeoutMs, LONGEST_TIMER_MS));
        signal?.addEventListener('abort', done, { once: true });
        this.#waiting = done;
      });
    }
    const woken = this.#woken;
    this.#woken = false;
    return woken;
  }
}
