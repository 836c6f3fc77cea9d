import { NOT_REFUSED } from './unstarted-webhooks.ts';

/** A person reads them. */
export const MOST_ROWS = 20;

/** One per route and reason that occurred lately. */
const MOST_KINDS = 1_000;

/** $1: since when. Of a flood only a few per second are kept; `all_new` says that every one since then was counted. */
export const REFUSED_WEBHOOKS = `
  SELECT c.route, c.outcome, c.reason, c.first_at >= $1 AS all_new, c.webhooks::float8 AS webhooks,
    count(*)::int AS kept, (array_agg(w.detail ORDER BY w.received_at DESC, w.slot DESC))[1] AS detail
  FROM angelia.unstarted_webhook_counts c JOIN angelia.unstarted_webhooks w USING (route, outcome, reason)
  WHERE c.outcome NOT IN (${NOT_REFUSED.map((outcome) => `'${outcome}'`).join(', ')})
    AND c.last_at >= $1 AND w.received_at >= $1
  GROUP BY c.route, c.outcome, c.reason ORDER BY max(w.received_at) DESC LIMIT ${MOST_KINDS}`;

/** Waiting sessions that are looked at. With more, the figures are lower bounds, and nobody needs them exactly. */
const MOST_WAITING = 10_000;

/** Models that sessions wait for right now. */
export const AWAITED_MODELS = `
  SELECT m->>'model' AS model, m->>'code' AS code, s.state #>> '{turns,0,putOff,reason}' AS reason,
    count(*)::int AS sessions
  FROM (SELECT s.state FROM angelia.sessions s WHERE NOT s.settled AND s.status = 'waiting'
        ORDER BY s.session_id LIMIT ${MOST_WAITING}) s,
    jsonb_array_elements(s.state #> '{turns,0,putOff,models}') m
  WHERE (s.state #> '{turns,0,putOff,waiting}') = 'true'
  GROUP BY 1, 2, 3 ORDER BY count(*) DESC LIMIT ${MOST_ROWS}`;

export interface AwaitedModel {
  readonly model: string;
  readonly code: string;
  readonly reason: 'unavailable' | 'configuration';
  readonly sessions: number;
}
