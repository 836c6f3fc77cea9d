import type { LongLog } from './long-log.ts';
import type { TemplateEvent } from './template.ts';

/** Sessions come in bursts, as from a CI run: the events of a burst lie between each other in the table. */
const BURST = 50;
/** One session in so many was opened under a key, whose stream has an event of it. */
const KEYED = 16;
const ROUTES = 20;
/** As many sessions of this route in any log, spread over its whole time. */
export const RARE_ROUTE = { name: 'rare', sessions: 60 };
/** The newest ones are at work: queued, running, or about to be delivered. As many in any log. */
const OPEN = 300;
/** The retention of the default config. */
const DAYS = 90;
/** A transaction each, of a second or two. */
const SESSIONS_PER_STATEMENT = 10_000;

/** How many events so many sessions have. */
export function eventsOf(template: readonly TemplateEvent[], sessions: number): number {
  const perSession = template.filter((event) => event.session === 0 && !event.ofKey).length;
  return Math.round(sessions * (perSession + 1 / KEYED));
}

/** Adds that many events of whole sessions, spread over 90 days up to now. The newest `open` of them are at work. */
export async function fillLog(
  { query }: LongLog,
  template: readonly TemplateEvent[],
  { events, open = OPEN }: { readonly events: number; readonly open?: number },
): Promise<void> {
  const sessions = Math.round((events / eventsOf(template, 1_000)) * 1_000);
  await query(
    `CREATE UNLOGGED TABLE public.template AS
     SELECT * FROM jsonb_to_recordset($1::jsonb)
       AS t(session int, "ofKey" boolean, version int, type text, data jsonb, meta jsonb, after float8)`,
    [JSON.stringify(template)],
  );
  await query('ANALYZE public.template');
  for (let from = 0; from < sessions; from += SESSIONS_PER_STATEMENT)
    await query(FILL, [from, Math.min(from + SESSIONS_PER_STATEMENT, sessions) - 1, sessions, open]);
  await query('DROP TABLE public.template');
}

/** $1, $2: from which session to which. $3: how many there will be. $4: how many of them are at work. */
const FILL = `
  WITH numbered AS (
    SELECT n, gen_random_uuid()::text AS random,
      now() - interval '${DAYS} days' + (n / ${BURST} * ${BURST})::float8 / $3::int * interval '${DAYS} days'
        + (n % ${BURST}) * interval '2 milliseconds' AS created
    FROM generate_series($1::int, $2::int) n
  ), sessions AS MATERIALIZED (
    SELECT n, created, substr(ms, 1, 8) || '-' || substr(ms, 9) || '-7' || substr(random, 16) AS id,
      'key-' || encode(sha256(random::bytea), 'hex') AS key,
      CASE WHEN n % ($3::int / ${RARE_ROUTE.sessions}) = 7 THEN '${RARE_ROUTE.name}' ELSE 'route-' || n % ${ROUTES} END AS route,
      -- The last version of one that is at work.
      CASE WHEN n >= $3::int - $4::int THEN (ARRAY[2, 3, 6])[n % 3 + 1] END AS head
    FROM numbered, LATERAL (SELECT lpad(to_hex((date_part('epoch', created) * 1000)::bigint), 12, '0') AS ms) h
  ), keys AS (
    INSERT INTO angelia.idempotency_keys (key, stream_id, first_version, last_version, expires_at)
    SELECT 'webhook:' || route || ':' || gen_random_uuid(), id, 1, 2, created + interval '7 days'
    FROM sessions WHERE created > now() - interval '7 days'
  )
  INSERT INTO angelia.events (stream_id, version, type, schema_version, event_id, data, meta, epoch, recorded_at)
  SELECT CASE WHEN t."ofKey" THEN s.key ELSE s.id END, t.version, t.type, 1, gen_random_uuid(),
    CASE WHEN t."ofKey" THEN jsonb_build_object('session_id', s.id)
         WHEN t.version = 1 THEN t.data || jsonb_build_object('route', s.route, 'delivery_id', s.id)
         ELSE t.data END,
    t.meta || jsonb_build_object('correlation', s.id), 1,
    date_trunc('milliseconds', s.created + t.after * interval '1 millisecond')
  FROM sessions s
  JOIN public.template t ON t.session = s.n % (SELECT max(session) + 1 FROM public.template)
    AND (NOT t."ofKey" OR s.n % ${KEYED} = 0) AND (s.head IS NULL OR t."ofKey" OR t.version <= s.head)
  ORDER BY s.created + t.after * interval '1 millisecond'`;
