import pg from 'pg';
import { toLogError } from '../connection/postgres-errors.ts';

/**
 * What went wrong in the last hour, for `angelia doctor`: facts only, the most recent first. Lists come from the views, so
 * they are a moment behind. Each has at most MOST_ROWS rows.
 */
export interface LastHour {
  readonly deadDeliveries: readonly {
    readonly target: string;
    readonly deliveries: number;
    /** Of the latest. */
    readonly reason: string | null;
  }[];
  /** By code of the failure. Sessions that began more than a day ago are not looked at. */
  readonly failedSessions: readonly {
    readonly code: string;
    readonly sessions: number;
    /** Of the latest. */
    readonly message: string | null;
    readonly sessionId: string;
  }[];
  readonly refusedWebhooks: readonly {
    readonly route: string;
    readonly outcome: string;
    readonly reason: string;
    /** Of a flood only a few per second are kept, so there may have been more. */
    readonly webhooks: number;
    readonly isExact: boolean;
    /** Of the latest. */
    readonly detail: string | null;
  }[];
  /** Models that sessions wait for right now. */
  readonly awaitedModels: readonly {
    readonly model: string;
    readonly code: string;
    readonly reason: 'unavailable' | 'configuration';
    readonly sessions: number;
  }[];
}

/** A person reads them. */
const MOST_ROWS = 20;

const DEAD_DELIVERIES = `
  SELECT target, count(*)::int AS deliveries, (array_agg(detail->>'reason' ORDER BY updated_at DESC))[1] AS reason
  FROM angelia.deliveries WHERE status = 'dead' AND updated_at > now() - interval '1 hour'
  GROUP BY target ORDER BY max(updated_at) DESC LIMIT ${MOST_ROWS}`;

/** No index has `ended_at`. But ids begin with the time of creation, and sessions rarely last for more than a day. */
const FAILED_SESSIONS = `
  SELECT coalesce(state->'failure'->>'code', outcome) AS code, count(*)::int AS sessions,
    (array_agg(state->'failure'->>'message' ORDER BY ended_at DESC))[1] AS message,
    (array_agg(session_id ORDER BY ended_at DESC))[1] AS session_id
  FROM angelia.sessions
  WHERE session_id > $1 AND outcome IN ('failed', 'expired') AND ended_at > now() - interval '1 hour'
  GROUP BY 1 ORDER BY max(ended_at) DESC LIMIT ${MOST_ROWS}`;

const REFUSED_WEBHOOKS = `
  SELECT c.route, c.outcome, c.reason, c.first_at > now() - interval '1 hour' AS all_new, c.webhooks::float8 AS webhooks,
    count(*)::int AS kept, (array_agg(w.detail ORDER BY w.received_at DESC, w.slot DESC))[1] AS detail
  FROM angelia.unstarted_webhook_counts c JOIN angelia.unstarted_webhooks w USING (route, outcome, reason)
  WHERE c.outcome NOT IN ('ignored', 'duplicate', 'handshake')
    AND c.last_at > now() - interval '1 hour' AND w.received_at > now() - interval '1 hour'
  GROUP BY c.route, c.outcome, c.reason ORDER BY max(w.received_at) DESC LIMIT ${MOST_ROWS}`;

const AWAITED_MODELS = `
  SELECT m->>'model' AS model, m->>'code' AS code, s.state #>> '{turns,0,putOff,reason}' AS reason,
    count(*)::int AS sessions
  FROM angelia.sessions s, jsonb_array_elements(s.state #> '{turns,0,putOff,models}') m
  WHERE NOT s.settled AND s.status = 'waiting' AND (s.state #> '{turns,0,putOff,waiting}') = 'true'
  GROUP BY 1, 2, 3 ORDER BY count(*) DESC LIMIT ${MOST_ROWS}`;

/** @throws LogError when Postgres cannot be reached, is too slow, or has no schema of this version */
export async function readLastHour(options: {
  readonly url: string;
  /** For connecting and for each statement. */
  readonly timeoutMs: number;
  readonly now: () => number;
}): Promise<LastHour> {
  const { url, timeoutMs, now } = options;
  const client = new pg.Client({
    connectionString: url,
    application_name: 'angelia-doctor',
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    statement_timeout: timeoutMs,
  });
  client.on('error', () => {}); // The running query rejects too. Without a listener the process would end.
  const rows = async <T extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<T[]> =>
    (await client.query<T>(text, values)).rows;
  try {
    await client.connect();
    const dead = await rows<{ target: string; deliveries: number; reason: string | null }>(DEAD_DELIVERIES);
    const failed = await rows<{ code: string; sessions: number; message: string | null; session_id: string }>(
      FAILED_SESSIONS,
      [firstIdOf(now() - DAY_MS)],
    );
    const refused = await rows<{
      route: string;
      outcome: string;
      reason: string;
      all_new: boolean;
      webhooks: number;
      kept: number;
      detail: string | null;
    }>(REFUSED_WEBHOOKS);
    const awaitedModels = await rows<LastHour['awaitedModels'][number]>(AWAITED_MODELS);
    return {
      deadDeliveries: dead,
      failedSessions: failed.map(({ session_id: sessionId, ...row }) => ({ ...row, sessionId })),
      refusedWebhooks: refused.map(({ all_new: isExact, kept, webhooks, ...row }) => ({
        ...row,
        webhooks: isExact ? webhooks : kept,
        isExact,
      })),
      awaitedModels,
    };
  } catch (error) {
    throw toLogError(error);
  } finally {
    await client.end().catch(() => {}); // The connection is gone already.
  }
}

const DAY_MS = 86_400_000;

/** The smallest UUID v7 of that millisecond. */
function firstIdOf(ms: number): string {
  const hex = Math.floor(ms).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}
