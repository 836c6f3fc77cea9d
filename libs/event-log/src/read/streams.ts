import type { RecordedEvent } from '@angelia/contracts';
import type { Lane } from '../connection/database.ts';
import { knownKey, readHead } from './read-head.ts';
import { RouteReader, type SessionRoute } from './route-reader.ts';
import { StreamReader } from './stream-reader.ts';

/** Reading single streams. Many reads at once become one query. */
export class Streams {
  readonly #lane: Lane;
  readonly #streams: StreamReader;
  readonly #routes: RouteReader;

  constructor(lane: Lane) {
    this.#lane = lane;
    this.#streams = new StreamReader(lane);
    this.#routes = new RouteReader(lane);
  }

  /** Events of one stream from `fromVersion` on, in order; empty when there is no such stream. */
  read(streamId: string, fromVersion = 1): Promise<RecordedEvent[]> {
    return this.#streams.read({ streamId, fromVersion });
  }

  /** The last event of a stream; null when there is no such stream. */
  readHead(streamId: string): Promise<RecordedEvent | null> {
    return readHead(this.#lane, streamId);
  }

  /** The stream that this idempotency key stored first; null when it is unknown. Appending asks this by itself. */
  findByKey(key: string): Promise<string | null> {
    return knownKey(this.#lane, key);
  }

  /** Route and agent of a session; null when there is no such session. */
  routeOf(sessionId: string): Promise<SessionRoute | null> {
    return this.#routes.read(sessionId);
  }
}
