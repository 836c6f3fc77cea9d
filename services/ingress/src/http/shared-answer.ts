/** People look at a page that changes every few seconds. A chart of minutes needs no more. */
const SHORTEST_MS = 2_000;
/** An answer that took long is kept for so many times as long: one process spends at most a twentieth of its time on it. */
const TIMES_ITS_COST = 20;

/**
 * One answer for all callers, however many there are: it is computed at most once at a time, and again only when it is old.
 * So twenty open pages cost what one costs.
 */
export class SharedAnswer<T> {
  readonly #compute: () => Promise<T>;
  readonly #shortestMs: number;
  #current: Promise<T> | null = null;
  #freshUntil = 0;

  constructor(compute: () => Promise<T>, shortestMs = SHORTEST_MS) {
    this.#compute = compute;
    this.#shortestMs = shortestMs;
  }

  get(): Promise<T> {
    if (this.#current !== null && performance.now() < this.#freshUntil) return this.#current;
    const begun = performance.now();
    // Until it is there, everybody waits for the same one.
    this.#freshUntil = Number.POSITIVE_INFINITY;
    const current = this.#compute();
    this.#current = current;
    current.then(
      () => {
        const now = performance.now();
        this.#freshUntil = now + Math.max(this.#shortestMs, (now - begun) * TIMES_ITS_COST);
      },
      () => {
        // A failure is nobody's answer but of those who waited for it.
        this.#current = null;
      },
    );
    return current;
  }
}
