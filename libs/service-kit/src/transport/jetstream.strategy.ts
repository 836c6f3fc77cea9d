import type { Bus, Consumption, DeadLetter, HintVerdict } from '@angelia/bus';
import { type Hint, isEventType, ownerHints, subjectFilter } from '@angelia/contracts';
import { withSpan } from '@angelia/sessions';
import type { INestApplication } from '@nestjs/common';
import { type MessageHandler, type NestMicroservice, Server } from '@nestjs/microservices';
import { SpanKind } from '@opentelemetry/api';
import { isObservable, lastValueFrom } from 'rxjs';
import { metrics } from '../metrics/catalogue.ts';
import { HandlerErrorFilter } from './handler-error.filter.ts';
import { JetStreamContext } from './jetstream.context.ts';

/**
 * Handlers at work at once, per pattern. They fold and append, a few milliseconds each and mostly waiting for
 * Postgres: enough to fill the batcher of the log, few enough that a backlog does not fill the pool's queue.
 */
const DEFAULT_CONCURRENCY = 64;

export interface JetStreamStrategyOptions {
  readonly bus: Bus;
  /** Names the durable consumers: `<service>-<type with dots as underscores>`. */
  readonly service: string;
  /** Handlers at work at once, per pattern: a number for all, or by pattern (the others have the default, 64). */
  readonly concurrency?: number | Readonly<Record<string, number>>;
  /** For an error that says `retryable: false`, and for a message that is no hint. */
  readonly onDeadLetter?: (letter: DeadLetter) => Promise<void>;
}

/**
 * Nest's transport over JetStream: one durable pull consumer per `@EventPattern`. A handler that returns nothing or
 * `'done'` has the hint acked, one that returns `{ retryInMs }` or throws gets it again. Nest's own handleEvent is not
 * used: it acks before an Observable has run, and runs several handlers of one pattern in a way that answers when the
 * first of them fails.
 */
export class JetStreamStrategy extends Server {
  /** Thrown errors become verdicts here; Nest need not log them too. */
  override readonly propagatesEventHandlerErrors = true;
  readonly #options: JetStreamStrategyOptions;
  readonly #handlers = new Map<string, MessageHandler[]>();
  readonly #refused: string[] = [];
  readonly #consumptions: Consumption[] = [];
  #stopped: Promise<void> | null = null;

  constructor(options: JetStreamStrategyOptions) {
    super();
    this.#options = options;
  }

  /** Of the patterns, as registered. */
  get patterns(): string[] {
    return [...this.#handlers.keys()];
  }

  /** Handlers at work right now, over all patterns. */
  get inFlight(): number {
    return this.#consumptions.reduce((sum, consumption) => sum + consumption.inFlight, 0);
  }

  override addHandler(pattern: unknown, handler: MessageHandler, isEventHandler = false): void {
    const route = this.normalizePattern(pattern as string);
    if (!isEventHandler) {
      this.#refused.push(`@MessagePattern(${route}): hints have no answer, use @EventPattern`);
    } else if (!isKnownType(route)) {
      this.#refused.push(`@EventPattern(${route}): there is no such event type or owner hint`);
    } else {
      // In lists of our own, not chained by `next`: so each result can be waited for.
      const handlers = this.#handlers.get(route) ?? [];
      handlers.push(handler);
      this.#handlers.set(route, handlers);
      this.messageHandlers.set(route, handlers[0] as MessageHandler);
    }
  }

  /** Returns at once, also when NATS is away: it consumes as soon as the server is there. */
  listen(callback: (error?: unknown) => void): void {
    if (this.#refused.length > 0) {
      callback(new Error(`service ${this.#options.service}: ${this.#refused.join('; ')}`));
      return;
    }
    for (const [type, handlers] of this.#handlers) this.#consumptions.push(this.#consume(type, handlers));
    callback();
  }

  /** No further hints; resolves when the handlers at work are through. The first step of an ordered shutdown. */
  stopPulling(): Promise<void> {
    this.#stopped ??= Promise.all(this.#consumptions.map((consumption) => consumption.stop())).then(() => {});
    return this.#stopped;
  }

  close(): Promise<void> {
    return this.stopPulling();
  }

  on(event: string): never {
    throw new Error(`the JetStream transport has no event ${event}: give the bus an onStatus`);
  }

  /** The bus. */
  unwrap<T>(): T {
    return this.#options.bus as T;
  }

  #consume(type: string, handlers: readonly MessageHandler[]): Consumption {
    const { bus, service, onDeadLetter } = this.#options;
    const durable = durableName(service, type);
    return bus.consume({
      durable,
      type,
      concurrency: this.#concurrencyOf(type),
      handler: (hint) => counted(durable, handleHint(hint, durable, handlers)),
      ...(onDeadLetter === undefined ? {} : { onDeadLetter }),
    });
  }

  #concurrencyOf(type: string): number {
    const { concurrency } = this.#options;
    if (typeof concurrency === 'number') return concurrency;
    return concurrency?.[type] ?? DEFAULT_CONCURRENCY;
  }
}

/** Joins the strategy to the app, with the filter that keeps handlers' errors whole. Call before app.listen(). */
export function connectJetStream(app: INestApplication, strategy: JetStreamStrategy): void {
  // Deferred, because filters are bound when the handlers are registered; the app itself runs the init hooks.
  const microservice = app.connectMicroservice(
    { strategy },
    { deferInitialization: true },
  ) as NestMicroservice;
  microservice.useGlobalFilters(new HandlerErrorFilter());
  microservice.setIsInitHookCalled(true);
}

export function durableName(service: string, type: string): string {
  return `${service}-${type.replaceAll('.', '_')}`;
}

function isKnownType(type: string): boolean {
  return isEventType(type) || (ownerHints as readonly string[]).includes(type);
}

async function counted(durable: string, handled: Promise<HintVerdict>): Promise<HintVerdict> {
  try {
    const verdict = await handled;
    metrics.hints.add({ durable, outcome: verdict === 'done' ? 'done' : 'again' });
    return verdict;
  } catch (error) {
    metrics.hints.add({ durable, outcome: 'failed' });
    throw error;
  }
}

/** All handlers run to their end before there is a verdict: a hint that comes again must not meet its own first run. */
function handleHint(hint: Hint, durable: string, handlers: readonly MessageHandler[]): Promise<HintVerdict> {
  const attributes = {
    'messaging.system': 'nats',
    'messaging.operation.type': 'process',
    'messaging.destination.name': subjectFilter(hint.type),
    'messaging.consumer.group.name': durable,
    'angelia.session_id': hint.stream_id,
    'angelia.version': hint.version,
  };
  const handle = async () => {
    const context = new JetStreamContext([hint, durable]);
    if (handlers.length === 1) return verdictOf(await resultOf(handlers[0] as MessageHandler, hint, context));
    const results = await Promise.allSettled(handlers.map((handler) => resultOf(handler, hint, context)));
    return combined(results);
  };
  // Timers and the sweep name no trace: what is done about their hints has spans in the session's own (one-trace).
  if (hint.traceparent === undefined) return handle();
  return withSpan(
    `consume ${hint.type}`,
    { kind: SpanKind.CONSUMER, parent: hint.traceparent, attributes },
    handle,
  );
}

async function resultOf(handler: MessageHandler, hint: Hint, context: JetStreamContext): Promise<unknown> {
  const result: unknown = await handler(hint, context);
  return isObservable(result) ? lastValueFrom(result, { defaultValue: undefined }) : result;
}

/** One that failed fails all, the others have to be ready for the hint to come twice anyway; else the earliest retry. */
function combined(results: readonly PromiseSettledResult<unknown>[]): HintVerdict {
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  const retries = results.flatMap((result) => {
    const verdict = result.status === 'fulfilled' ? verdictOf(result.value) : 'done';
    return verdict === 'done' ? [] : [verdict.retryInMs];
  });
  return retries.length === 0 ? 'done' : { retryInMs: Math.min(...retries) };
}

function verdictOf(result: unknown): HintVerdict {
  if (result === undefined || result === null || result === 'done') return 'done';
  if (typeof result === 'object' && 'retryInMs' in result && typeof result.retryInMs === 'number') {
    return { retryInMs: result.retryInMs };
  }
  // An ack for an answer that was not understood could lose the hint.
  throw new TypeError("a hint's handler returns nothing, 'done' or { retryInMs }");
}
