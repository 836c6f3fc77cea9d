/**
 * Wakes a loop that waits: rung while nobody waits, the next wait returns at once, so that no ring is lost.
 * Many rings before one wait are one.
 */
export class Bell {
  private rung = false;
  private waiting: (() => void) | undefined;

  ring(): void {
    this.rung = true;
    this.waiting?.();
  }

  /** True when it was rung, false when the time ran out or the signal was aborted. */
  async wait(timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    if (!this.rung && !signal?.aborted) {
      await new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', done);
          this.waiting = undefined;
          resolve();
        };
        const timer = setTimeout(done, timeoutMs);
        signal?.addEventListener('abort', done, { once: true });
        this.waiting = done;
      });
    }
    const rung = this.rung;
    this.rung = false;
    return rung;
  }
}

/** A pause that an abort ends early. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}
