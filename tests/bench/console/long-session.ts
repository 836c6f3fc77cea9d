import type { Stack } from '@angelia/local';
import { callTools, type ModelServer, say } from '@angelia/testkit';
import { pause } from '@angelia/waiting';
import pg from 'pg';
import { Client, signedPost } from '../load.ts';

/** Model calls of the real session, each with so many commands. */
const STEPS = 3;
const COMMANDS = 16;

interface LongSessionOptions {
  readonly stack: Stack;
  /** The model of the agent of the route. */
  readonly model: ModelServer;
  readonly route: string;
  readonly secret: string;
  readonly events: number;
}

/**
 * The id of a session of that many events: model calls, the commands that they asked for, an answer, its delivery. A real
 * session is made, then a copy of it in which its steps are repeated.
 */
export async function longSession({
  stack,
  model,
  route,
  secret,
  events,
}: LongSessionOptions): Promise<string> {
  const call = { name: 'terminal', args: { command: 'echo done' } };
  model.behave(({ results }) =>
    results.length < STEPS * COMMANDS
      ? callTools(...Array.from({ length: COMMANDS }, () => call))
      : say('Everything is **done**.'),
  );
  const client = new Client(stack.url, 1, route);
  const status = await client.post(signedPost(secret, `${route}-${Date.now()}`));
  await client.close();
  if (status !== 202) throw new Error(`POST answered ${status} instead of 202`);
  const database = new pg.Client({ connectionString: stack.databaseUrl });
  await database.connect();
  try {
    for (;;) {
      const { rows } = await database.query<{ id: string }>(DELIVERED, [route]);
      if (rows[0]) {
        const copied = await database.query<{ id: string }>(REPEATED, [rows[0].id, events]);
        return copied.rows[0]?.id ?? '';
      }
      await pause(200);
    }
  } finally {
    await database.end();
  }
}

const DELIVERED = `
  SELECT c.stream_id AS id FROM angelia.events c
  WHERE c.type = 'session.created' AND c.data ->> 'route' = $1
    AND EXISTS (SELECT FROM angelia.events e WHERE e.stream_id = c.stream_id AND e.type = 'delivery.succeeded')`;

/** $1: the session. $2: how many events the copy has, or a few more. Its calls have names of their own, and its times follow each other. */
const REPEATED = `
  WITH own AS (
    SELECT e.*, min(version) FILTER (WHERE type = 'model.responded') OVER () AS first,
      max(version) FILTER (WHERE type = 'model.responded') OVER () AS last, count(*) OVER () AS events,
      min(recorded_at) OVER () - interval '10 minutes' AS created
    FROM angelia.events e WHERE stream_id = $1
  ), parts AS (
    SELECT own.*, (version >= first)::int + (version >= last)::int AS part,
      1 + ceil(($2::float8 - events) / (last - first))::int AS times FROM own
  ), copies AS (
    SELECT parts.*, n, row_number() OVER (ORDER BY part, n, version) AS place
    FROM parts, generate_series(1, CASE WHEN part = 1 THEN times ELSE 1 END) n
  ), copied AS (
    INSERT INTO angelia.events (stream_id, version, type, schema_version, event_id, data, meta, epoch, recorded_at)
    SELECT left($1, 24) || left(md5($1), 12), place, type, schema_version, gen_random_uuid(),
      replace(data::text, '"call_', '"call_' || n || '_')::jsonb
        || CASE WHEN data ? 'output' THEN jsonb_build_object('output', (data ->> 'output')::int + (times - 1) * (last - first))
           ELSE '{}' END,
      meta || jsonb_build_object('correlation', left($1, 24) || left(md5($1), 12)), epoch,
      date_trunc('milliseconds', created + place * interval '20 milliseconds')
    FROM copies ORDER BY place
    RETURNING stream_id
  )
  SELECT DISTINCT stream_id AS id FROM copied`;
