import type { RelayEvent } from './read-for-relay.ts';

/**
 * Positions of events that were hinted before their order was decided. They are read again, and must not be hinted twice.
 * Only hinted ones are kept. A read that leaves the others out never returns them again, so they would stay here for ever.
 * (They did once: after a flood the relay mistook some left-over positions for a held-back tail, and paused on every pass.)
 */
export class EarlyHints {
  readonly #positions = new Set<number>();

  get size(): number {
    return this.#positions.size;
  }

  /** The events that still need a hint. */
  unhinted(page: readonly RelayEvent[]): RelayEvent[] {
    return page.filter((event) => event.hinted && !this.#positions.has(event.position));
  }

  /** The hints of this page are published. */
  note(page: readonly RelayEvent[]): void {
    for (const { hinted, visible, position } of page) {
      if (visible) this.#positions.delete(position);
      else if (hinted) this.#positions.add(position);
    }
  }

  /** The same for a page that the cursor does not pass: its events are read again even if their order is decided by now. */
  noteBeyondCursor(page: readonly RelayEvent[]): void {
    for (const { hinted, position } of page) if (hinted) this.#positions.add(position);
  }
}
