import type pg from 'pg';
import {
  AWAITED_MODELS,
  type AwaitedModel,
  MOST_ROWS,
  REFUSED_WEBHOOKS,
} from '../diagnostics/recent-trouble.ts';
import { idAt } from '../read/id-time.ts';
import { type DoctorOptions, withDoctorConnection } from './doctor-connection.ts';

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
  readonly awaitedModels: readonly AwaitedModel[];
}

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

/** @throws LogError also when there is no schema of this version */
export function readLastHour({
  now,
  ...options
}: DoctorOptions & { readonly now: () => number }): Promise<LastHour> {
  return withDoctorConnection(options, async (client) => {
    const rows = async <T extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<T[]> =>
      (await client.query<T>(text, values)).rows;
    const dead = await rows<{ target: string; deliveries: number; reason: string | null }>(DEAD_DELIVERIES);
    const failed = await rows<{ code: string; sessions: number; message: string | null; session_id: string }>(
      FAILED_SESSIONS,
      [idAt(now() - DAY_MS)],
    );
    const refused = await rows<{
      route: string;
      outcome: string;
      reason: string;
      all_new: boolean;
      webhooks: number;
      kept: number;
      detail: string | null;
    }>(REFUSED_WEBHOOKS, [new Date(now() - HOUR_MS)]);
    const awaitedModels = await rows<AwaitedModel>(AWAITED_MODELS);
    return {
      deadDeliveries: dead,
      failedSessions: failed.map(({ session_id: sessionId, ...row }) => ({ ...row, sessionId })),
      refusedWebhooks: refused.slice(0, MOST_ROWS).map(({ all_new: isExact, kept, webhooks, ...row }) => ({
        ...row,
        webhooks: isExact ? webhooks : kept,
        isExact,
      })),
      awaitedModels,
    };
  });
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
