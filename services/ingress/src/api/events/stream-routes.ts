import { isSessionId } from '@angelia/contracts';
import type { Streams } from '@angelia/event-log';
import type { FeedEvent } from './feed-event.ts';

/** Sessions at work at the same time. Beyond that some are looked up again. */
const MOST_REMEMBERED = 10_000;

/** The routes of sessions, for readers that want one route only. */
export class StreamRoutes {
  readonly #known = new Map<string, string>();
  readonly #streams: Pick<Streams, 'routeOf'>;

  constructor(streams: Pick<Streams, 'routeOf'>) {
    this.#streams = streams;
  }

  /** Null: not an event of a session, or its session is erased. */
  async routeOf({ streamId, createdRoute }: FeedEvent): Promise<string | null> {
    if (!isSessionId(streamId)) return null;
    const route = createdRoute ?? this.#known.get(streamId) ?? (await this.#streams.routeOf(streamId))?.route;
    if (route === undefined) return null;
    // The last one in is the last one out.
    this.#known.delete(streamId);
    this.#known.set(streamId, route);
    if (this.#known.size > MOST_REMEMBERED) {
      const oldest = this.#known.keys().next();
      if (!oldest.done) this.#known.delete(oldest.value);
    }
    return route;
  }
}
