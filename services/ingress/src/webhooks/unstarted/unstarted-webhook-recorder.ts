import type { IncomingHttpHeaders } from 'node:http';
import { type EventLog, toStorable, type UnstartedBatch, type UnstartedWebhook } from '@angelia/event-log';
import { EVENT_LOG, LOGGER, type Logger, metrics, UNKNOWN_ROUTE } from '@angelia/service-kit';
import { within } from '@angelia/waiting';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { ROUTES } from '../../tokens.ts';
import { deliveryIdOf } from '../admit/delivery-id.ts';
import { eventTypeOf } from '../admit/event-type.ts';
import type { RouteTable } from '../route.ts';
import type { WebhookAnswer } from '../take-webhook.ts';
import { countedAs, detailOfError, type Outcome, outcomeOfAnswer, outcomeOfError } from './outcome.ts';
import { UnstartedWebhookLog } from './unstarted-webhook-log.ts';

/** Short enough for somebody who looks right after. A flood causes one statement per second and replica. */
const FLUSH_MS = 1_000;
/** Per kind and flush: of a flood the last few are kept and the rest are counted. */
const NEWEST_PER_FLUSH = 5;
/** Kinds that may wait for a flush, mainly while Postgres is away. More are counted together as one. */
const MOST_KINDS = 2_000;
const LONGEST_TEXT = 200;
/** A sentence or two: names of headers, a number of seconds, a filter with the value that it saw. */
const LONGEST_DETAIL = 400;
const FORGET_EVERY_MS = 3_600_000;
/** When ingress stops, the last flush may take this long; it must not hold up the drain. */
const LAST_FLUSH_MS = 1_000;

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
  /** A ring: the n-th webhook is at n modulo its size. */
  newest: UnstartedWebhook[];
}

interface RecordedRequest {
  readonly routeName: string;
  readonly headers: IncomingHttpHeaders;
  /** The address of the sender; behind a trusted proxy, the one that the proxy names. */
  readonly source: string;
}

/**
 * Answers "why did nothing happen?". Counts every webhook that started no session by route, outcome and reason, and keeps
 * the last of each kind for all replicas to list, with a sentence that says why in detail. A request costs only a look-up
 * in a map. Once a second the result goes to the log's database, into unlogged rings of a fixed size. Bodies, signatures
 * and tokens are not kept; of a payload only the value that a filter refused, cut to a line (filter/explain.ts).
 */
@Injectable()
export class UnstartedWebhookRecorder implements OnModuleDestroy {
  #kinds = new Map<string, Kind>();
  #timer: NodeJS.Timeout | null = null;
  #flushing: Promise<void> = Promise.resolve();
  #failing = false;
  #closed = false;
  #forgotAt = -Infinity;
  readonly #log: UnstartedWebhookLog;

  constructor(
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(ROUTES) private readonly routes: RouteTable,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly counter = metrics.webhooks,
  ) {
    this.#log = new UnstartedWebhookLog(logger);
  }

  answered(request: RecordedRequest, answer: WebhookAnswer): void {
    const outcome = outcomeOfAnswer(answer);
    if (outcome === null) return;
    const { delivery_id, session_id } = answer.body;
    this.#add(request, outcome, {
      event: answer.event ?? null,
      deliveryId: textOf(delivery_id),
      sessionId: textOf(session_id),
      detail: answer.detail ?? null,
    });
  }

  refused(request: RecordedRequest, error: unknown): void {
    const detail = detailOfError(error);
    this.#add(request, outcomeOfError(error), { event: null, deliveryId: null, sessionId: null, detail });
  }

  /** Writes what this replica still holds, so that a list from this replica contains all that it answered. */
  flush(): Promise<void> {
    this.#flushing = this.#flushing.then(() => this.#write());
    return this.#flushing;
  }

  async onModuleDestroy(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await within(LAST_FLUSH_MS, this.flush());
  }

  #add(
    { routeName, headers, source }: RecordedRequest,
    { outcome, reason, status }: Outcome,
    known: Pick<UnstartedWebhook, 'event' | 'deliveryId' | 'sessionId' | 'detail'>,
  ): void {
    const exists = this.routes.get(routeName) !== undefined || reason === 'route_unusable';
    // All names without a route share one ring, so a scanner fills only that.
    const route = exists ? routeName : UNKNOWN_ROUTE;
    const kind = this.#kindOf(route, outcome, reason);
    const now = Date.now();
    this.counter.add({ route, outcome: countedAs({ outcome, reason, status }) });
    if (kind.webhooks === 0) kind.firstAt = now;
    kind.lastAt = now;
    const webhook: UnstartedWebhook = {
      ...kind.attributes,
      receivedAt: now,
      status,
      event: clipped(known.event ?? eventTypeOf(headers, null)),
      deliveryId: clipped(known.deliveryId ?? sentDeliveryId(headers)),
      sessionId: known.sessionId,
      requestedRoute: !exists && ROUTE_NAME.test(routeName) ? routeName : null,
      detail: clipped(known.detail, LONGEST_DETAIL),
      source: clipped(source),
    };
    kind.newest[kind.webhooks % NEWEST_PER_FLUSH] = webhook;
    kind.webhooks += 1;
    this.#log.add(webhook);
    if (this.#timer === null && !this.#closed) this.#flushLater();
  }

  #kindOf(route: string, outcome: string, reason: string): Kind {
    const key = `${route} ${outcome} ${reason}`;
    const held = this.#kinds.get(key);
    if (held !== undefined) return held;
    if (this.#kinds.size >= MOST_KINDS && route !== OTHER_KIND)
      return this.#kindOf(OTHER_KIND, outcome, reason);
    const kind: Kind = {
      attributes: { route, outcome, reason },
      webhooks: 0,
      firstAt: 0,
      lastAt: 0,
      newest: [],
    };
    this.#kinds.set(key, kind);
    return kind;
  }

  #flushLater(): void {
    this.#timer = setTimeout(() => {
      void this.flush().finally(() => {
        this.#timer = null;
        if (this.#kinds.size > 0 && !this.#closed) this.#flushLater();
      });
    }, FLUSH_MS);
    this.#timer.unref();
  }

  /** Never throws. What cannot be written is held, within the bounds above, and goes with the next flush. */
  async #write(): Promise<void> {
    if (this.#kinds.size === 0) return;
    const writing = this.#kinds;
    this.#kinds = new Map();
    try {
      await this.log.unstartedWebhooks.record([...writing.values()].map(batchOf));
      this.#failing = false;
      if (performance.now() - this.#forgotAt > FORGET_EVERY_MS) {
        this.#forgotAt = performance.now();
        await this.log.unstartedWebhooks.forgetOld();
      }
    } catch (error) {
      if (!this.#failing)
        this.logger.warn({ err: error }, 'cannot record webhooks that started no session; will retry');
      this.#failing = true;
      this.#takeBack(writing);
    }
  }

  #takeBack(unwritten: ReadonlyMap<string, Kind>): void {
    for (const older of unwritten.values()) {
      const { route, outcome, reason } = older.attributes;
      const kind = this.#kindOf(route, outcome, reason);
      const newest = [...inOrder(older), ...inOrder(kind)].slice(-NEWEST_PER_FLUSH);
      kind.firstAt = older.firstAt;
      kind.lastAt = Math.max(kind.lastAt, older.lastAt);
      kind.webhooks += older.webhooks;
      // Placed so that the next one replaces the oldest.
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

/** From the headers only: the body of a refused request is not read. */
function sentDeliveryId(headers: IncomingHttpHeaders): string | null {
  const { id, from } = deliveryIdOf({ headers, body: NO_BODY }, null, { payload: null, event: null });
  return from === 'sender' ? id : null;
}

function clipped(text: string | null, longest = LONGEST_TEXT): string | null {
  return text === null ? null : toStorable(text.slice(0, longest));
}

function textOf(value: WebhookAnswer['body'][string] | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
