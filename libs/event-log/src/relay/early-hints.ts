import { isAfter, type TailCursor } from '../tail/tail.ts';
import type { UnhintedEvent } from './read-for-relay.ts';

/**
 * Events that were hinted before their order was decided. They are read again until the relay's cursor has passed them,
 * and must not be hinted twice.
 */
export class EarlyHints {
  readonly #places = new Map<string, TailCursor>();

  get size(): number {
    return this.#places.size;
  }

  has({ hint }: UnhintedEvent): boolean {
    return this.#places.has(hint.eventId);
  }

  add({ hint, cursor }: UnhintedEvent): void {
    this.#places.set(hint.eventId, cursor);
  }

  /** The relay has passed this place. */
  forgetUpTo(place: TailCursor): void {
    for (const [eventId, cursor] of this.#places) if (!isAfter(cursor, place)) this.#places.delete(eventId);
  }
}
