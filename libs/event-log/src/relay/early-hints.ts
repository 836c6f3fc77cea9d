import type { AheadEvent } from '../tail/tail.ts';

/**
 * Positions of events that were hinted before their order was decided: they come up again, and are not hinted twice.
 * Only hinted ones are kept. A read that leaves the others out never shows them again, so that they would stay here for
 * ever (and did: after a flood the relay took a handful of memory for a tail held back, and paused on every pass).
 */
export class HintedAhead {
  readonly #positions = new Set<number>();

  get size(): number {
    return this.#positions.size;
  }

  /** Those that nobody was told of. */
  unhinted(page: readonly AheadEvent[]): AheadEvent[] {
    return page.filter((event) => event.hinted && !this.#positions.has(event.position));
  }

  /** They are hinted now. */
  note(page: readonly AheadEvent[]): void {
    for (const { hinted, visible, position } of page) {
      if (visible) this.#positions.delete(position);
      else if (hinted) this.#positions.add(position);
    }
  }

  /** The same for a page that the cursor does not pass: its events come up again even when their order is decided by now. */
  noteBeyondCursor(page: readonly AheadEvent[]): void {
    for (const { hinted, position } of page) if (hinted) this.#positions.add(position);
  }
}
