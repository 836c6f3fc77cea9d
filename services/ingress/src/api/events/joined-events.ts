import type { TailCursor } from '@angelia/event-log';
import type { FeedEvent } from './feed-event.ts';

/** How much is written before the socket is asked whether it takes more. */
const SLICE_CHARACTERS = 64 * 1024;
/** Each has about so many characters, or a single larger event. */
const MOST_KEPT = 8;

interface Slice {
  readonly bytes: Buffer;
  /** How many events it takes up. */
  readonly count: number;
  /** The place behind it. */
  readonly place: TailCursor;
}

type Joined = Pick<FeedEvent, 'cursor' | 'text'>;

/** The messages of the first of these events as the bytes of one write. `wanted`: null means all. */
export function joined<Event extends Joined>(
  events: readonly Event[],
  wanted: ReadonlySet<Event> | null,
): Slice {
  let text = '';
  let count = 0;
  for (const event of events) {
    if (wanted === null || wanted.has(event)) text += event.text;
    count += 1;
    if (text.length >= SLICE_CHARACTERS) break;
  }
  return { bytes: Buffer.from(text), count, place: (events[count - 1] as Event).cursor };
}

/**
 * The same for readers of the window who want everything, as each open console does. They are at the same place nearly always, so
 * the bytes are made once.
 */
export class SharedSlices<Event extends Joined> {
  /** Up to this event. */
  #end: Event | undefined;
  readonly #byFirst = new Map<Event, Slice>();

  /** Events that follow each other in the tail, at least one. */
  of(events: readonly Event[]): Slice {
    const first = events[0] as Event;
    const end = events.at(-1);
    if (end !== this.#end) this.forget();
    this.#end = end;
    const known = this.#byFirst.get(first);
    if (known !== undefined) return known;
    const slice = joined(events, null);
    if (this.#byFirst.size < MOST_KEPT) this.#byFirst.set(first, slice);
    return slice;
  }

  forget(): void {
    this.#end = undefined;
    this.#byFirst.clear();
  }
}
