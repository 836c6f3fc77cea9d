import { IS_HINTED } from '../tail/tail.ts';

export interface LogHealth {
  /** Age of the oldest committed event that an open transaction still hides from the tail. 0 if none is hidden. */
  readonly tailLagMs: number;
  /** Age of the oldest event that the relay should have hinted and has not. */
  readonly relayLagMs: number;
  /** Age of the oldest event that the views do not show yet. */
  readonly projectionLagMs: number;
  readonly deadLetters: number;
}

/** Each figure is the first row behind a place in the tail's index: the cost does not grow with the log. */
const OLDEST = `SELECT
    (SELECT e.recorded_at FROM angelia.events e
     WHERE (e.epoch, e.tx, e.position) >= ((SELECT epoch FROM angelia.cluster), pg_snapshot_xmin(pg_current_snapshot()), 0::bigint)
     ORDER BY e.epoch, e.tx, e.position LIMIT 1) AS hidden,
    (SELECT e.recorded_at FROM angelia.checkpoints c, LATERAL (
       SELECT e.recorded_at FROM angelia.events e WHERE (e.epoch, e.tx, e.position) > (c.epoch, c.tx, c.position)
       AND ${IS_HINTED} ORDER BY e.epoch, e.tx, e.position LIMIT 1) e WHERE c.name = 'relay') AS relay,
    (SELECT e.recorded_at FROM angelia.view_builds b JOIN angelia.checkpoints c
       ON c.name = 'views:' || b.build || CASE WHEN b.version > 1 THEN ':v' || b.version ELSE '' END, LATERAL (
       SELECT e.recorded_at FROM angelia.events e WHERE (e.epoch, e.tx, e.position) > (c.epoch, c.tx, c.position)
       ORDER BY e.epoch, e.tx, e.position LIMIT 1) e WHERE b.active) AS views,
    (SELECT count(*) FROM (SELECT 1 FROM angelia.dead_letters LIMIT 1000) d) AS dead`;

/** Ages in milliseconds of the oldest event that is hidden, not hinted, not shown (null: none), and the count of dead letters. */
export const HEALTH_AGES = `SELECT
    date_part('epoch', clock_timestamp() - h.hidden) * 1000 AS hidden, date_part('epoch', clock_timestamp() - h.relay) * 1000 AS relay,
    date_part('epoch', clock_timestamp() - h.views) * 1000 AS views, h.dead
  FROM (${OLDEST}) h`;

/** From a row of HEALTH_AGES. */
export function toLogHealth(row: readonly unknown[]): LogHealth {
  // An event of this very moment is 1 ms old: 0 means that there is none.
  const age = (value: unknown) => (typeof value === 'number' ? Math.max(1, Math.round(value)) : 0);
  return {
    tailLagMs: age(row[0]),
    relayLagMs: age(row[1]),
    projectionLagMs: age(row[2]),
    deadLetters: (row[3] as number | undefined) ?? 0,
  };
}
