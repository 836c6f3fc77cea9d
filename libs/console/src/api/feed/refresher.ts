/** Lists come from views, which are a moment behind the log: a list that is asked for at once lacks the event that came. */
const SOON_MS = 250;
/** While events keep coming, a list is asked for at most once in this time. */
const AGAIN_MS = 1_000;
/** After the last event a list is asked for once more, in case the views were further behind than that. */
const SETTLED_MS = 3_000;

/** Says when to ask for a list again, after events that concern it. */
export class Refresher {
  #soon: ReturnType<typeof setTimeout> | null = null;
  #settled: ReturnType<typeof setTimeout> | null = null;
  #last = Number.NEGATIVE_INFINITY;
  readonly #refresh: () => void;

  constructor(refresh: () => void) {
    this.#refresh = refresh;
  }

  /** An event came. */
  poke(): void {
    this.#soon ??= setTimeout(
      () => {
        this.#soon = null;
        this.#last = Date.now();
        this.#refresh();
      },
      Math.max(SOON_MS, AGAIN_MS - (Date.now() - this.#last)),
    );
    if (this.#settled !== null) clearTimeout(this.#settled);
    this.#settled = setTimeout(() => {
      this.#settled = null;
      this.#refresh();
    }, SETTLED_MS);
  }

  stop(): void {
    if (this.#soon !== null) clearTimeout(this.#soon);
    if (this.#settled !== null) clearTimeout(this.#settled);
    this.#soon = null;
    this.#settled = null;
  }
}
