import type { Bus, Consumption, DeadLetter, HintVerdict } from '@angelia/bus';
import { type Hint, isEventType, ownerHints, subjectFilter } from '@angelia/contracts';
import { SESSION_ID, withInternalSpan } from '@angelia/sessions';
import type { INestApplication } from '@nestjs/common';
import { type MessageHandler, type NestMicroservice, Server } from '@nestjs/microservices';
import { SpanKind } from '@opentelemetry/api';
import { isObservable, lastValueFrom } from 'rxjs';
import { metrics } from '../metrics/catalogue.ts';
import { HandlerErrorFilter } from './handler-error.filter.ts';
import { JetStreamContext } from './jetstream.context.ts';

/**
 * Handlers that run at once, per pattern. Each folds and appends within a few milliseconds and mostly waits for Postgres. So
 * many fill the batcher of the log, and are few enough that a backlog does not fill the pool's queue.
 */
const DEFAULT_CONCURRENCY = 64;

export interface JetStreamStrategyOptions {
  readonly bus: Bus;
  /** Names the durable consumers: `<service>-<type with dots as underscores>`. */
  readonly service: string;
  /** Handlers that run at once, per pattern: one number for all, or by pattern (default 64). */
  readonly concurrency?: number | Readonly<Record<string, number>>;
  /** Called for an error with `retryable: false`, and for a message that is not a hint. */
  readonly onDeadLetter?: (letter: DeadLetter) => Promise<void>;
}

/**
 * Nest's transport over JetStream: one durable pull consumer per `@EventPattern`. If a handler returns nothing or `'done'`,
 * the hint is acked. If it returns `{ retryInMs }` or throws, the hint is redelivered. Nest's own handleEvent is not used:
 * it acks before an Observable has run, and with several handlers of one pattern it answers when the first one fails.
 */
export class JetStreamStrategy extends Server {
  /** This class turns errors into verdicts, so Nest does not log them. */
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

  /** The registered patterns. */
  get patterns(): string[] {
    return [...this.#handlers.keys()];
  }

  /** Handlers that run now, over all patterns. */
  get inFlight(): number {
    return this.#consumptions.reduce((sum, consumption) => sum + consumption.inFlight, 0);
  }

  override addHandler(pattern: unknown, handler: MessageHandler, isEventHandler = false): void {
    const route = this.normalizePattern(pattern as string);
    if (!isEventHandler) {
      this.#refused.push(`@MessagePattern(${route}): a hint has no answer. Use @EventPattern`);
    } else if (!isKnownType(route)) {
      this.#refused.push(`@EventPattern(${route}): there is no such event type or owner hint`);
    } else {
      // In our own lists, not chained by `next`, so that each result can be awaited.
      const handlers = this.#handlers.get(route) ?? [];
      handlers.push(handler);
      this.#handlers.set(route, handlers);
      this.messageHandlers.set(route, handlers[0] as MessageHandler);
    }
  }

  /** Returns at once, even if NATS is away: it consumes as soon as the server is there. */
  listen(callback: (error?: unknown) => void): void {
    if (this.#refused.length > 0) {
      callback(new Error(`service ${this.#options.service}: ${this.#refused.join('; ')}`));
      return;
    }
    for (const [type, handlers] of this.#handlers) this.#consumptions.push(this.#consume(type, handlers));
    callback();
  }

  /** Stops taking hints; resolves when no handler runs any more. The first step of a shutdown. */
  stopPulling(): Promise<void> {
    this.#stopped ??= Promise.all(this.#consumptions.map((consumption) => consumption.stop())).then(() => {});
    return this.#stopped;
  }

  close(): Promise<void> {
    return this.stopPulling();
  }

  on(event: string): never {
    throw new Error(`the JetStream transport has no event ${event}. Give the bus an onStatus`);
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

/** Connects the strategy to the app, with the filter that keeps handlers' errors whole. Call it before app.listen(). */
export function connectJetStream(app: INestApplication, strategy: JetStreamStrategy): void {
  // Deferred, because filters are bound when handlers are registered. The app itself runs the init hooks.
  const microservice = app.connectMicroservice(
    { strategy },
    { deferInitialization: true },
  ) as NestMicroservice;
  microservice.useGlobalFilters(new HandlerErrorFilter());
  microservice.setIsInitHookCalled(true);
}

function durableName(service: string, type: string): string {
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

/** All handlers finish before the verdict: a redelivered hint must not meet its own first run. */
function handleHint(hint: Hint, durable: string, handlers: readonly MessageHandler[]): Promise<HintVerdict> {
  const handle = async () => {
    const context = new JetStreamContext([hint, durable]);
    if (handlers.length === 1) return verdictOf(await resultOf(handlers[0] as MessageHandler, hint, context));
    const results = await Promise.allSettled(handlers.map((handler) => resultOf(handler, hint, context)));
    return combined(results);
  };
  const { traceparent } = hint;
  // Timers and the sweep name no trace. The work on their hints has spans in the session's own trace (one-trace).
  if (traceparent === undefined) return handle();
  return withInternalSpan(
    () => ({
      name: `consume ${hint.type}`,
      kind: SpanKind.CONSUMER,
      parent: traceparent,
      attributes: {
        'messaging.system': 'nats',
        'messaging.operation.type': 'process',
        'messaging.operation.name': 'consume',
        'messaging.destination.name': subjectFilter(hint.type),
        'messaging.consumer.group.name': durable,
        [SESSION_ID]: hint.stream_id,
        'angelia.version': hint.version,
      },
    }),
    handle,
  );
}

async function resultOf(handler: MessageHandler, hint: Hint, context: JetStreamContext): Promise<unknown> {
  const result: unknown = await handler(hint, context);
  return isObservable(result) ? lastValueFrom(result, { defaultValue: undefined }) : result;
}

/** If one failed, all failed: each must tolerate a redelivery anyway. Otherwise the earliest retry counts. */
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
  // An ack for an unknown result could lose the hint.
  throw new TypeError("a handler of hints must return nothing, 'done' or { retryInMs }");
}
