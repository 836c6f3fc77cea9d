import { BatchReader } from '../connection/batch-reader.ts';
import { textArray } from '../connection/binary-array.ts';
import type { Lane, Statement } from '../connection/database.ts';

/** Whose session it is, as `session.created` says. */
export interface SessionRoute {
  readonly route: string;
  readonly agent: string;
}

const ROUTES: Statement = {
  name: 'read_routes',
  text: `SELECT e.data ->> 'route', e.data ->> 'agent'
         FROM unnest($1::text[]) WITH ORDINALITY AS s(stream_id, n)
         LEFT JOIN angelia.events e ON e.stream_id = s.stream_id AND e.version = 1 AND e.type = 'session.created'
         ORDER BY s.n`,
};

const ROUTES_PER_QUERY = 256;

/** For whoever has to put many sessions in order without reading their streams. Null: there is no such session. */
export class RouteReader extends BatchReader<string, SessionRoute | null> {
  constructor(lane: Lane) {
    super(ROUTES_PER_QUERY, async (ids) =>
      (await lane.query(ROUTES, [textArray(ids)])).map(([route, agent]) =>
        typeof route === 'string' && typeof agent === 'string' ? { route, agent } : null,
      ),
    );
  }
}
