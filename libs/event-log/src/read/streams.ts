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

interface StreamHead {
  readonly streamId: string;
  readonly type: string;
}

const HEAD: Statement = {
  name: 'read_head',
  text: `SELECT e.position, e.version, e.type, e.schema_version, e.event_id, e.data, e.meta,
                date_part('epoch', e.recorded_at) * 1000
         FROM angelia.events e WHERE e.stream_id = $1 ORDER BY e.version DESC LIMIT 1`,
};
/** A stream may have very many events in between. */
const ENDS: Statement = {
  name: 'read_ends',
  text: `SELECT e.position, e.version, e.type, e.schema_version, e.event_id, e.data, e.meta,
                date_part('epoch', e.recorded_at) * 1000
         FROM ((SELECT * FROM angelia.events e WHERE e.stream_id = $1 ORDER BY e.version LIMIT 2)
               UNION ALL
               (SELECT * FROM angelia.events e WHERE e.stream_id = $1 AND e.version > 2 ORDER BY e.version DESC LIMIT 2)) e
         ORDER BY e.version`,
};
/** From one stream to the next by the primary key, however many events they have. */
const HEADS: Statement = {
  name: 'read_heads',
  text: `WITH RECURSIVE names AS (
           (SELECT e.stream_id FROM angelia.events e WHERE e.stream_id >= $1 AND e.stream_id < $2
            ORDER BY e.stream_id DESC LIMIT 1)
           UNION ALL
           SELECT (SELECT e.stream_id FROM angelia.events e WHERE e.stream_id >= $1 AND e.stream_id < n.stream_id
                   ORDER BY e.stream_id DESC LIMIT 1)
           FROM names n WHERE n.stream_id IS NOT NULL
         )
         SELECT n.stream_id,
           (SELECT e.type FROM angelia.events e WHERE e.stream_id = n.stream_id ORDER BY e.version DESC LIMIT 1)
         FROM names n WHERE n.stream_id IS NOT NULL LIMIT $3`,
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

  /** The first two and the last two events of a stream. For streams whose every event sums up those before it. */
  async readEnds(streamId: string): Promise<RecordedEvent[]> {
    return (await this.#pool.query(ENDS, [streamId])).map((row) => toRecordedEvent(streamId, row));
  }

  /** The streams with names from `from` to before `to`, the last ones first, each with the type of its last event. */
  async heads(range: { from: string; to: string; limit: number }): Promise<StreamHead[]> {
    const rows = await this.#pool.query(HEADS, [range.from, range.to, range.limit]);
    return rows.map(([streamId, type]) => ({ streamId: streamId as string, type: type as string }));
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
