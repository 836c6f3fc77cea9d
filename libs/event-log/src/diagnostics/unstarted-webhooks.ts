import { sql } from 'kysely';
import { float8Array, int4Array, textArray } from '../connection/binary-array.ts';
import type { ConnectionPool, Statement } from '../connection/connection-pool.ts';
import { milliseconds, queries } from '../connection/query-builder.ts';

/** A kind of webhook that started no session. There are few kinds: each field has a small, closed set of values. */
interface UnstartedKind {
  readonly route: string;
  readonly outcome: string;
  readonly reason: string;
}

export interface UnstartedWebhook extends UnstartedKind {
  readonly receivedAt: number;
  /** Status code of the HTTP answer. */
  readonly status: number;
  readonly event: string | null;
  readonly deliveryId: string | null;
  /** The session that an earlier delivery of the same webhook started. */
  readonly sessionId: string | null;
  /** The name in the URL, if no route has it. */
  readonly requestedRoute: string | null;
  /** Why exactly, as a sentence for the operator. */
  readonly detail: string | null;
  /** The address of the sender. */
  readonly source: string | null;
}

interface UnstartedCount extends UnstartedKind {
  readonly webhooks: number;
  readonly firstAt: number;
  readonly lastAt: number;
}

/** How many arrived since the last flush, and the newest of them. */
export interface UnstartedBatch extends UnstartedKind {
  readonly webhooks: number;
  readonly firstAt: number;
  readonly lastAt: number;
  readonly newest: readonly UnstartedWebhook[];
}

/** Per kind. Enough to see a pattern; few enough that a thousand routes fill some 100 MB at the very worst. */
export const KEPT_PER_KIND = 50;
/** A weekend, plus some days until somebody asks. */
const KEPT_DAYS = 7;
/** There is one count per route and reason: a page for a person, or for a script that asks for one route. */
const MAX_COUNTS = 1_000;

interface UnstartedFilter {
  readonly route?: string | undefined;
  readonly outcome?: string | undefined;
  /** Neither ignored, nor a duplicate, nor a handshake. */
  readonly isRefused?: boolean | undefined;
  /** Received at this time or later, in milliseconds. */
  readonly since?: number | undefined;
  readonly limit: number;
}

/** Outcomes of webhooks that started no session although nothing was wrong with them. */
export const NOT_REFUSED = ['ignored', 'duplicate', 'handshake'] as const;

/** All replicas write the kinds in the same order, so that two flushes can wait for each other but never deadlock. */
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
    (route, outcome, reason, slot, received_at, status, event, delivery_id, session_id, requested_route, detail, source)
  SELECT w.route, w.outcome, w.reason, (k.kept - w.from_end) % ${KEPT_PER_KIND}, to_timestamp(w.received_at / 1000),
    w.status, w.event, w.delivery_id, w.session_id, w.requested_route, w.detail, w.source
  FROM unnest($8::text[], $9::text[], $10::text[], $11::int[], $12::float8[], $13::int[], $14::text[], $15::text[],
      $16::text[], $17::text[], $18::text[], $19::text[])
    w(route, outcome, reason, from_end, received_at, status, event, delivery_id, session_id, requested_route, detail, source)
  JOIN kinds k ON (k.route, k.outcome, k.reason) = (w.route, w.outcome, w.reason)
  ON CONFLICT (route, outcome, reason, slot) DO UPDATE SET received_at = EXCLUDED.received_at, status = EXCLUDED.status,
    event = EXCLUDED.event, delivery_id = EXCLUDED.delivery_id, session_id = EXCLUDED.session_id,
    requested_route = EXCLUDED.requested_route, detail = EXCLUDED.detail, source = EXCLUDED.source`,
};

/** Webhooks that started no session: each is counted, and the newest of each kind are kept. In batches, off the hot path. */
export class UnstartedWebhooks {
  readonly #pool: ConnectionPool;

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
  }

  async record(batches: readonly UnstartedBatch[]): Promise<void> {
    if (batches.length === 0) return;
    const webhooks = batches.flatMap((batch) =>
      batch.newest.slice(-KEPT_PER_KIND).map((webhook, index, kept) => ({
        ...webhook,
        fromEnd: kept.length - index,
      })),
    );
    await this.#pool.query(RECORD, [
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
      textArray(webhooks.map((webhook) => webhook.detail)),
      textArray(webhooks.map((webhook) => webhook.source)),
    ]);
  }

  /** Newest first. */
  async list(filter: UnstartedFilter): Promise<UnstartedWebhook[]> {
    let query = queries
      .selectFrom('angelia.unstarted_webhooks as w')
      .select([
        'route',
        'outcome',
        'reason',
        'status',
        'event',
        'delivery_id',
        'session_id',
        'requested_route',
        'detail',
        'source',
      ])
      .select(milliseconds('w.received_at').as('received_at'))
      .orderBy('w.received_at', 'desc')
      // Of one kind and millisecond, the higher slot came later.
      .orderBy('w.slot', 'desc')
      .limit(filter.limit);
    if (filter.route !== undefined) query = query.where('route', '=', filter.route);
    if (filter.outcome !== undefined) query = query.where('outcome', '=', filter.outcome);
    if (filter.isRefused === true) query = query.where('outcome', 'not in', NOT_REFUSED);
    if (filter.since !== undefined) query = query.where('w.received_at', '>=', new Date(filter.since));
    return (await this.#pool.run(query)).map((row) => ({
      route: row.route,
      outcome: row.outcome,
      reason: row.reason,
      receivedAt: Math.round(row.received_at),
      status: row.status,
      event: row.event,
      deliveryId: row.delivery_id,
      sessionId: row.session_id,
      requestedRoute: row.requested_route,
      detail: row.detail,
      source: row.source,
    }));
  }

  /** The most recent kinds first. */
  async count(filter: Pick<UnstartedFilter, 'route' | 'outcome'>): Promise<UnstartedCount[]> {
    let query = queries
      .selectFrom('angelia.unstarted_webhook_counts as c')
      .select(['route', 'outcome', 'reason', 'webhooks'])
      .select([milliseconds('c.first_at').as('first_at'), milliseconds('c.last_at').as('last_at')])
      .orderBy('c.last_at', 'desc')
      .limit(MAX_COUNTS);
    if (filter.route !== undefined) query = query.where('route', '=', filter.route);
    if (filter.outcome !== undefined) query = query.where('outcome', '=', filter.outcome);
    return (await this.#pool.run(query)).map((row) => ({
      route: row.route,
      outcome: row.outcome,
      reason: row.reason,
      webhooks: row.webhooks,
      firstAt: Math.round(row.first_at),
      lastAt: Math.round(row.last_at),
    }));
  }

  /** Removes kinds that no longer occur, such as those of deleted routes. Called now and then. */
  async forgetOld(): Promise<void> {
    const oldest = sql<Date>`now() - make_interval(days => ${KEPT_DAYS})`;
    await this.#pool.run(
      queries.deleteFrom('angelia.unstarted_webhook_counts').where('last_at', '<', oldest),
    );
    await this.#pool.run(queries.deleteFrom('angelia.unstarted_webhooks').where('received_at', '<', oldest));
  }
}
