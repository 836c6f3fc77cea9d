import { compareCursors, type TailCursor } from '@angelia/event-log';

interface Kept {
  readonly cursor: TailCursor;
  readonly text: string;
}

/** What a client misses while it reconnects, at a few hundred events per second. */
const MOST_EVENTS = 2_000;
const MOST_CHARACTERS = 8 * 1024 * 1024;

/** The newest events of the tail, kept once for all readers. Bounded: whoever falls behind it reads the log instead. */
export class TailWindow<Event extends Kept> {
  #events: Event[] = [];
  #characters = 0;
  /** Everything behind this place is here. */
  #start: TailCursor;
  #end: TailCursor;
  readonly #mostEvents: number;
  readonly #mostCharacters: number;

  constructor(start: TailCursor, mostEvents = MOST_EVENTS, mostCharacters = MOST_CHARACTERS) {
    this.#start = start;
    this.#end = start;
    this.#mostEvents = mostEvents;
    this.#mostCharacters = mostCharacters;
  }

  get start(): TailCursor {
    return this.#start;
  }

  get end(): TailCursor {
    return this.#end;
  }

  /** How much is kept. */
  get size(): { readonly events: number; readonly characters: number } {
    return { events: this.#events.length, characters: this.#characters };
  }

  /** In the order of the tail, after `end`. */
  add(events: readonly Event[]): void {
    this.#events.push(...events);
    for (const { text } of events) this.#characters += text.length;
    this.#end = events.at(-1)?.cursor ?? this.#end;
    let dropped = 0;
    while (
      this.#events.length - dropped > this.#mostEvents ||
      (this.#characters > this.#mostCharacters && this.#events.length - dropped > 0)
    ) {
      this.#characters -= this.#events[dropped]?.text.length ?? 0;
      dropped += 1;
    }
    if (dropped === 0) return;
    this.#start = this.#events[dropped - 1]?.cursor ?? this.#end;
    this.#events = this.#events.slice(dropped);
  }

  /** Everything behind this place. Null: some of it is not here any more. */
  after(place: TailCursor): readonly Event[] | null {
    if (compareCursors(place, this.#start) < 0) return null;
    let low = 0;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareCursors(this.#events[middle]?.cursor ?? place, place) > 0) high = middle;
      else low = middle + 1;
    }
    return this.#events.slice(low);
  }
}
