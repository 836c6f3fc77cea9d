import type { IncomingHttpHeaders } from 'node:http';
import { type EventLog, storable, type UnstartedBatch, type UnstartedWebhook } from '@angelia/event-log';
import { EVENT_LOG, LOGGER, type Logger, metrics } from '@angelia/service-kit';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { ROUTES } from '../../tokens.ts';
import { deliveryIdOf } from '../admit/delivery-id.ts';
import { eventTypeOf } from '../admit/event-type.ts';
import type { RouteTable } from '../compile-route.ts';
import type { WebhookAnswer } from '../take-webhook.ts';
import { countedAs, type Outcome, outcomeOfAnswer, outcomeOfError } from './outcome.ts';

/** Short enough for whoever looks right after; a flood is one statement per second and replica. */
const FLUSH_MS = 1_000;
/** Of one kind and flush: of a flood the last few are told, the rest is counted. */
const NEWEST_PER_FLUSH = 5;
/** Kinds that wait for a flush, while Postgres is away above all. Beyond it they go together into one. */
const MOST_KINDS = 2_000;
const LONGEST_TEXT = 200;
const FORGET_EVERY_MS = 3_600_000;
/** What is still held when ingress goes down is worth a moment, not the drain. */
const LAST_FLUSH_MS = 1_000;

/** No route has such a name. All names that are no routes share one ring: a scanner fills that, and nothing else. */
export const UNKNOWN_ROUTE = '(unknown)';
const OTHER_KIND = '(others)';
const ROUTE_NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const NO_BODY = Buffer.alloc(0);

interface Kind {
  readonly attributes: {
    readonly route: string;
    readonly outcome: string;
    readonly reason: string;
  };
  webhooks: number;
  firstAt: number;
  lastAt: number;
  /** A ring: the n-th is at n modulo its size. */
  newest: UnstartedWebhook[];
}

export interface Told {
  readonly routeName: string;
  readonly headers: IncomingHttpHeaders;
}

/**
 * "Why did nothing happen?": every webhook that started no session is counted by route, outcome and reason, and the
 * last of each kind are kept for all replicas to list. Beside the answer this is a look-up in a map; what was gathered
 * goes to the log's database once a second, unlogged, into rings of a fixed size. Neither bodies nor signatures nor
 * addresses of senders are kept.
 */
@Injectable()
export class UnstartedWebhooks implements OnModuleDestroy {
  private kinds = new Map<string, Kind>();
  private timer: NodeJS.Timeout | null = null;
  private flushing: Promise<void> = Promise.resolve();
  private failing = false;
  private closed = false;
  private forgotAt = -Infinity;

  constructor(
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(ROUTES) private readonly routes: RouteTable,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  answered(request: Told, answer: WebhookAnswer): void {
    const outcome = outcomeOfAnswer(answer);
    if (outcome === null) return;
    const { delivery_id, session_id } = answer.body;
    this.add(request, outcome, answer.event ?? null, delivery_id ?? null, session_id ?? null);
  }

  refused(request: Told, error: unknown): void {
    this.add(request, outcomeOfError(error), null, null, null);
  }

  /** What this replica still holds, so that a list that is asked for here lacks nothing that was answered here. */
  flush(): Promise<void> {
    this.flushing = this.flushing.then(() => this.write());
    return this.flushing;
  }

  async onModuleDestroy(): Promise<void> {
    this.closed = true;
    if (this.timer !== null) clearTimeout(this.timer);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, LAST_FLUSH_MS);
    });
    await Promise.race([this.flush(), late]);
    clearTimeout(timer);
  }

  private add(
    { routeName, headers }: Told,
    { outcome, reason, status }: Outcome,
    event: string | null,
    deliveryId: string | null,
    sessionId: string | null,
  ): void {
    const known = this.routes.get(routeName) !== undefined || reason === 'route_unusable';
    const route = known ? routeName : UNKNOWN_ROUTE;
    const kind = this.kindOf(route, outcome, reason);
    const now = Date.now();
    metrics.webhooks.add({ route, outcome: countedAs({ outcome, reason, status }) });
    if (kind.webhooks === 0) kind.firstAt = now;
    kind.lastAt = now;
    kind.newest[kind.webhooks % NEWEST_PER_FLUSH] = {
      ...kind.attributes,
      receivedAt: now,
      status,
      event: clipped(event ?? eventTypeOf(headers, null)),
      deliveryId: clipped(deliveryId ?? sentDeliveryId(headers)),
      sessionId,
      requestedRoute: !known && ROUTE_NAME.test(routeName) ? routeName : null,
    };
    kind.webhooks += 1;
    if (this.timer === null && !this.closed) this.flushLater();
  }

  private kindOf(route: string, outcome: string, reason: string): Kind {
    const key = `${route} ${outcome} ${reason}`;
    const held = this.kinds.get(key);
    if (held !== undefined) return held;
    if (this.kinds.size >= MOST_KINDS && route !== OTHER_KIND)
      return this.kindOf(OTHER_KIND, outcome, reason);
    const kind: Kind = {
      attributes: { route, outcome, reason },
      webhooks: 0,
      firstAt: 0,
      lastAt: 0,
      newest: [],
    };
    this.kinds.set(key, kind);
    return kind;
  }

  private flushLater(): void {
    this.timer = setTimeout(() => {
      void this.flush().finally(() => {
        this.timer = null;
        if (this.kinds.size > 0 && !this.closed) this.flushLater();
      });
    }, FLUSH_MS);
    this.timer.unref();
  }

  /** Never throws: what could not be written is held, within the bounds above, and goes with the next. */
  private async write(): Promise<void> {
    if (this.kinds.size === 0) return;
    const writing = this.kinds;
    this.kinds = new Map();
    try {
      await this.log.unstartedWebhooks.record([...writing.values()].map(batchOf));
      this.failing = false;
      if (performance.now() - this.forgotAt > FORGET_EVERY_MS) {
        this.forgotAt = performance.now();
        await this.log.unstartedWebhooks.forgetOld();
      }
    } catch (error) {
      if (!this.failing)
        this.logger.warn({ err: error }, 'webhooks that started nothing cannot be recorded yet');
      this.failing = true;
      this.takeBack(writing);
    }
  }

  private takeBack(unwritten: ReadonlyMap<string, Kind>): void {
    for (const older of unwritten.values()) {
      const { route, outcome, reason } = older.attributes;
      const kind = this.kindOf(route, outcome, reason);
      const newest = [...inOrder(older), ...inOrder(kind)].slice(-NEWEST_PER_FLUSH);
      kind.firstAt = older.firstAt;
      kind.lastAt = Math.max(kind.lastAt, older.lastAt);
      kind.webhooks += older.webhooks;
      // Turned so that the next one replaces the oldest.
      kind.newest = [];
      const first = kind.webhooks - newest.length;
      newest.forEach((webhook, index) => {
        kind.newest[(first + index) % NEWEST_PER_FLUSH] = webhook;
      });
    }
  }
}

function batchOf(kind: Kind): UnstartedBatch {
  const { webhooks, firstAt, lastAt, attributes } = kind;
  return { ...attributes, webhooks, firstAt, lastAt, newest: inOrder(kind) };
}

function inOrder({ newest, webhooks }: Kind): UnstartedWebhook[] {
  if (webhooks <= NEWEST_PER_FLUSH) return newest.slice(0, webhooks);
  const oldest = webhooks % NEWEST_PER_FLUSH;
  return [...newest.slice(oldest), ...newest.slice(0, oldest)];
}

/** As far as a header says: the body of a request that was refused is not looked into. */
function sentDeliveryId(headers: IncomingHttpHeaders): string | null {
  const { id, from } = deliveryIdOf(headers, NO_BODY, null, { payload: null, event: null });
  return from === 'sender' ? id : null;
}

function clipped(text: string | null): string | null {
  return text === null ? null : storable(text.slice(0, LONGEST_TEXT));
}
