import type { RecordedEvent } from '@angelia/contracts';
import { BatchReader } from '../connection/batch-reader.ts';
import { textArray } from '../connection/binary-array.ts';
import type { ConnectionPool, Statement } from '../connection/connection-pool.ts';
import { StreamReader, toRecordedEvent } from './stream-reader.ts';

/** The route and agent of a session, as `session.created` says. */
interface SessionRoute {
  readonly route: string;
  readonly agent: string;
}

const HEAD: Statement = {
  name: 'read_head',
  text: `SELECT e.position, e.version, e.type, e.schema_version, e.event_id, e.data, e.meta,
                date_part('epoch', e.recorded_at) * 1000
         FROM angelia.events e WHERE e.stream_id = $1 ORDER BY e.version DESC LIMIT 1`,
};
const KNOWN_KEY: Statement = {
  name: 'known_key',
  text: 'SELECT i.stream_id FROM angelia.idempotency_keys i WHERE i.key = $1 AND i.expires_at > now()',
};
const ROUTES: Statement = {
  name: 'read_routes',
  text: `SELECT e.data ->> 'route', e.data ->> 'agent'
         FROM unnest($1::text[]) WITH ORDINALITY AS s(stream_id, n)
         LEFT JOIN angelia.events e ON e.stream_id = s.stream_id AND e.version = 1 AND e.type = 'session.created'
         ORDER BY s.n`,
};
const ROUTES_PER_QUERY = 256;

/** Reads single streams. Many reads at the same time become one query. */
export class Streams {
  readonly #pool: ConnectionPool;
  readonly #streams: StreamReader;
  readonly #routes: BatchReader<string, SessionRoute | null>;

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
    this.#streams = new StreamReader(pool);
    this.#routes = new BatchReader(ROUTES_PER_QUERY, (ids) => this.#readRoutes(ids));
  }

  /** Events of one stream from `fromVersion` on, in order. Empty if there is no such stream. */
  read(streamId: string, fromVersion = 1): Promise<RecordedEvent[]> {
    return this.#streams.read({ streamId, fromVersion });
  }

  /** The last event of a stream. Null if there is no such stream. For streams whose every event replaces the one before. */
  async readHead(streamId: string): Promise<RecordedEvent | null> {
    const [row] = await this.#pool.query(HEAD, [streamId]);
    return row === undefined ? null : toRecordedEvent(streamId, row);
  }

  /** The stream that this idempotency key stored first. Null if the key is unknown or expired. Appends check this themselves. */
  async findByKey(key: string): Promise<string | null> {
    const [row] = await this.#pool.query(KNOWN_KEY, [key]);
    return row === undefined ? null : (row[0] as string);
  }

  /** Null if there is no such session. Orders many sessions without reading their streams. */
  routeOf(sessionId: string): Promise<SessionRoute | null> {
    return this.#routes.read(sessionId);
  }

  async #readRoutes(sessionIds: readonly string[]): Promise<(SessionRoute | null)[]> {
    const rows = await this.#pool.query(ROUTES, [textArray(sessionIds)]);
    return rows.map(([route, agent]) =>
      typeof route === 'string' && typeof agent === 'string' ? { route, agent } : null,
    );
  }
}
