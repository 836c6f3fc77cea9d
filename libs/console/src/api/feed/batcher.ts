import type { FeedBatch, FeedEvent } from './feed-event.ts';

/** One frame: a single event is shown at once, and the events of one commit come together. */
const FIRST_MS = 16;
/** While events keep coming, views change at most ten times a second: more than that nobody can read. */
const NEXT_MS = 100;
/** More than this between two flushes costs more to apply than to ask for again. It also bounds the memory of a hidden tab. */
export const MOST_EVENTS = 2_000;

/** Collects events and hands them on in batches. */
export class Batcher {
  #events: FeedEvent[] = [];
  #gap = false;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #lastFlush = Number.NEGATIVE_INFINITY;
  readonly #flushTo: (batch: FeedBatch) => void;

  constructor(flushTo: (batch: FeedBatch) => void) {
    this.#flushTo = flushTo;
  }

  add(event: FeedEvent): void {
    if (this.#events.length >= MOST_EVENTS) {
      this.#events = [];
      this.#gap = true;
    }
    this.#events.push(event);
    this.#schedule();
  }

  /** Events may have been missed: the connection was lost and could not be resumed. */
  markGap(): void {
    this.#gap = true;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#timer !== null) return;
    const sinceLast = Date.now() - this.#lastFlush;
    this.#timer = setTimeout(() => this.#flush(), Math.max(FIRST_MS, NEXT_MS - sinceLast));
  }

  #flush(): void {
    this.#timer = null;
    this.#lastFlush = Date.now();
    const batch = { events: this.#events, gap: this.#gap };
    this.#events = [];
    this.#gap = false;
    this.#flushTo(batch);
  }
}
