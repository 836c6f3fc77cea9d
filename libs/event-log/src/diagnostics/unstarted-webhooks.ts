import { float8Array, int4Array, textArray } from '../connection/binary-array.ts';
import type { Lane, Statement } from '../connection/database.ts';

/** A kind of webhook that started no session. The three together come from a small, closed set of values. */
export interface UnstartedKind {
  readonly route: string;
  readonly outcome: string;
  readonly reason: string;
}

export interface UnstartedWebhook extends UnstartedKind {
  readonly receivedAt: number;
  /** Of the HTTP answer. */
  readonly status: number;
  readonly event: string | null;
  readonly deliveryId: string | null;
  /** The session that an earlier delivery of the same webhook had started. */
  readonly sessionId: string | null;
  /** The name in the URL, where no route has it. */
  readonly requestedRoute: string | null;
}

export interface UnstartedCount extends UnstartedKind {
  readonly webhooks: number;
  readonly firstAt: number;
  readonly lastAt: number;
}

/** How many came since the last time, and the newest of them. */
export interface UnstartedBatch extends UnstartedKind {
  readonly webhooks: number;
  readonly firstAt: number;
  readonly lastAt: number;
  readonly newest: readonly UnstartedWebhook[];
}

/** Of one kind: enough to see a pattern, little enough that a thousand routes fill some 100 MB at the very worst. */
export const KEPT_PER_KIND = 50;
/** Longer than a weekend plus the day on which somebody asks. */
const KEPT_DAYS = 7;
/** Counts are one row per route and reason: a page for a person, or for a script that asks for one route. */
const MAX_COUNTS = 1_000;

/** Kinds in one order for all replicas, so that two flushes wait for each other and never in a circle. */
const RECORD: Statement = {
  name: 'record_unstarted_webhooks',
  text: `WITH kinds AS (
    INSERT INTO angelia.unstarted_webhook_counts AS c (route, outcome, reason, webhooks, kept, first_at, last_at)
    SELECT k.route, k.outcome, k.reason, k.webhooks, k.kept, to_timestamp(k.first_at / 1000), to_timestamp(k.last_at / 1000)
    FROM unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::int[], $6::float8[], $7::float8[])
      k(route, outcome, reason, webhooks, kept, first_at, last_at)
    ORDER BY k.route, k.outcome, k.reason
    ON CONFLICT (route, outcome, reason) DO UPDATE SET webhooks = c.webhooks + EXCLUDED.webhooks,
      kept = c.kept + EXCLUDED.kept, last_at = greatest(c.last_at, EXCLUDED.last_at)
    RETURNING route, outcome, reason, kept
  )
  INSERT INTO angelia.unstarted_webhooks AS u
    (route, outcome, reason, slot, received_at, status, event, delivery_id, session_id, requested_route)
  SELECT w.route, w.outcome, w.reason, (k.kept - w.from_end) % ${KEPT_PER_KIND}, to_timestamp(w.received_at / 1000),
    w.status, w.event, w.delivery_id, w.session_id, w.requested_route
  FROM unnest($8::text[], $9::text[], $10::text[], $11::int[], $12::float8[], $13::int[], $14::text[], $15::text[],
      $16::text[], $17::text[])
    w(route, outcome, reason, from_end, received_at, status, event, delivery_id, session_id, requested_route)
  JOIN kinds k ON (k.route, k.outcome, k.reason) = (w.route, w.outcome, w.reason)
  ON CONFLICT (route, outcome, reason, slot) DO UPDATE SET received_at = EXCLUDED.received_at, status = EXCLUDED.status,
    event = EXCLUDED.event, delivery_id = EXCLUDED.delivery_id, session_id = EXCLUDED.session_id,
    requested_route = EXCLUDED.requested_route`,
};

async function recordUnstarted(lane: Lane, batches: readonly UnstartedBatch[]): Promise<void> {
  if (batches.length === 0) return;
  const webhooks = batches.flatMap((batch) =>
    batch.newest.slice(-KEPT_PER_KIND).map((webhook, index, kept) => ({
      ...webhook,
      fromEnd: kept.length - index,
    })),
  );
  await lane.query(RECORD, [
    textArray(batches.map((batch) => batch.route)),
    textArray(batches.map((batch) => batch.outcome)),
    textArray(batches.map((batch) => batch.reason)),
    float8Array(batches.map((batch) => batch.webhooks)),
    int4Array(batches.map((batch) => Math.min(batch.newest.length, KEPT_PER_KIND))),
    float8Array(batches.map((batch) => batch.firstAt)),
    float8Array(batches.map((batch) => batch.lastAt)),
    textArray(webhooks.map((webhook) => webhook.route)),
    textArray(webhooks.map((webhook) => webhook.outcome)),
    textArray(webhooks.map((webhook) => webhook.reason)),
    int4Array(webhooks.map((webhook) => webhook.fromEnd)),
    float8Array(webhooks.map((webhook) => webhook.receivedAt)),
    int4Array(webhooks.map((webhook) => webhook.status)),
    textArray(webhooks.map((webhook) => webhook.event)),
    textArray(webhooks.map((webhook) => webhook.deliveryId)),
    textArray(webhooks.map((webhook) => webhook.sessionId)),
    textArray(webhooks.map((webhook) => webhook.requestedRoute)),
  ]);
}

export interface UnstartedFilter {
  readonly route?: string | undefined;
  readonly outcome?: string | undefined;
  readonly limit: number;
}

const COLUMNS = `route, outcome, reason, date_part('epoch', received_at) * 1000, status, event, delivery_id, session_id,
  requested_route`;
/** By the primary key where a route is named: its rings are small. Else by time. */
const NEWEST_OF_ROUTE: Statement = {
  name: 'unstarted_webhooks_of_route',
  text: `SELECT ${COLUMNS} FROM angelia.unstarted_webhooks
         WHERE route = $1 AND ($2::text IS NULL OR outcome = $2) ORDER BY received_at DESC LIMIT $3`,
};
const NEWEST: Statement = {
  name: 'unstarted_webhooks',
  text: `SELECT ${COLUMNS} FROM angelia.unstarted_webhooks
         WHERE ($1::text IS NULL OR outcome = $1) ORDER BY received_at DESC LIMIT $2`,
};

/** The newest first. */
async function listUnstarted(lane: Lane, filter: UnstartedFilter): Promise<UnstartedWebhook[]> {
  const outcome = filter.outcome ?? null;
  const rows =
    filter.route === undefined
      ? await lane.query(NEWEST, [outcome, filter.limit])
      : await lane.query(NEWEST_OF_ROUTE, [filter.route, outcome, filter.limit]);
  return rows.map((row) => ({
    route: row[0] as string,
    outcome: row[1] as string,
    reason: row[2] as string,
    receivedAt: Math.round(row[3] as number),
    status: row[4] as number,
    event: row[5] as string | null,
    deliveryId: row[6] as string | null,
    sessionId: row[7] as string | null,
    requestedRoute: row[8] as string | null,
  }));
}

const COUNTS: Statement = {
  name: 'unstarted_webhook_counts',
  text: `SELECT route, outcome, reason, webhooks, date_part('epoch', first_at) * 1000, date_part('epoch', last_at) * 1000
         FROM angelia.unstarted_webhook_counts
         WHERE ($1::text IS NULL OR route = $1) AND ($2::text IS NULL OR outcome = $2)
         ORDER BY last_at DESC LIMIT ${MAX_COUNTS}`,
};

async function countUnstarted(lane: Lane, filter: Omit<UnstartedFilter, 'limit'>): Promise<UnstartedCount[]> {
  const rows = await lane.query(COUNTS, [filter.route ?? null, filter.outcome ?? null]);
  return rows.map((row) => ({
    route: row[0] as string,
    outcome: row[1] as string,
    reason: row[2] as string,
    webhooks: row[3] as number,
    firstAt: Math.round(row[4] as number),
    lastAt: Math.round(row[5] as number),
  }));
}

/** Kinds that no longer occur, those of routes that were deleted above all. */
const FORGET: Statement = {
  name: 'forget_unstarted_webhooks',
  text: `WITH counts AS (
           DELETE FROM angelia.unstarted_webhook_counts WHERE last_at < now() - interval '${KEPT_DAYS} days')
         DELETE FROM angelia.unstarted_webhooks WHERE received_at < now() - interval '${KEPT_DAYS} days'`,
};

/** Webhooks that started no session: counted, and the newest of each kind kept. In batches, off the hot path. */
export class UnstartedWebhooks {
  readonly #lane: Lane;

  constructor(lane: Lane) {
    this.#lane = lane;
  }

  record(batches: readonly UnstartedBatch[]): Promise<void> {
    return recordUnstarted(this.#lane, batches);
  }

  list(filter: UnstartedFilter): Promise<UnstartedWebhook[]> {
    return listUnstarted(this.#lane, filter);
  }

  count(filter: Omit<UnstartedFilter, 'limit'>): Promise<UnstartedCount[]> {
    return countUnstarted(this.#lane, filter);
  }

  /** Removes those that are too old to be asked for; called now and then. */
  async forgetOld(): Promise<void> {
    await this.#lane.query(FORGET, []);
  }
}
