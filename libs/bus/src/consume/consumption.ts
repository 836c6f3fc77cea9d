import { setTimeout as sleep } from 'node:timers/promises';
import { type Hint, hintSchema } from '@angelia/contracts';
import type { Msg } from '@nats-io/transport-node';
import { type Connection, type LiveConnection, withinTime } from '../connect/connection.ts';
import { BusUnusable, reasonOf } from '../errors.ts';
import { isStreamNotFound, isTimeout } from '../jetstream-errors.ts';
import { whyNotLed } from '../stream/stream-health.ts';
import type { BusLogger, ConsumeOptions, Consumption } from '../types.ts';
import {
  ackPayload,
  backoffMs,
  deliveriesOf,
  GIVE_BACK,
  IN_PROGRESS,
  retryIn,
  TERMINATE,
} from './acknowledgement.ts';
import { ACK_WAIT_MS, deleteDurable, ensureDurable } from './durable-consumer.ts';
import { PullSubscription } from './pull-subscription.ts';

/** Buffered beyond what is being handled: enough to bridge the way to the server, no more than one handler's worth. */
const MAX_PREFETCH = 256;
/** A message is in our hands for longer than this: tell the server, before it gives it to someone else. */
const TOUCH_AFTER_MS = ACK_WAIT_MS / 3;
const LOOK_EVERY_MS = 1_000;
/** Of a handler that fails for no reason of the infrastructure: some seconds of trying, then it is a dead letter. */
const MAX_TRIES = 6;
/** A pulling that ended sooner than this counts as a failure, and the next try waits longer. */
const STABLE_MS = 2_000;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;
/** A failing dependency fails every hint: one line per this long says it, with the count. */
const FAILURES_LOG_EVERY_MS = 10_000;
const FLUSH_TIMEOUT_MS = 2_000;

interface Received {
  readonly message: Msg;
  /** The consumer's life that it came from. An ack for an earlier one would ack some other message: sequences start anew. */
  readonly life: string;
  touchedAt: number;
}

export interface ConsumptionContext {
  readonly connection: Connection;
  readonly logger: BusLogger;
  readonly provision: (live: LiveConnection) => Promise<unknown>;
  readonly leaderlessMs: number;
  readonly onStopped: (consumption: DurableConsumption) => void;
}

/**
 * Pulls the hints of one durable for ever. Round after round: wait for a connection, make sure of stream and durable,
 * pull until the pulling ends (connection lost, durable or stream deleted, server silent), go round again. Buffered
 * messages and handlers at work outlive a round.
 */
export class DurableConsumption implements Consumption {
  readonly durable: string;
  readonly #options: ConsumeOptions;
  readonly #context: ConsumptionContext;
  readonly #capacity: number;
  readonly #pullAt: number;
  readonly #buffer: Received[] = [];
  readonly #running = new Set<Received>();
  readonly #stopping = new AbortController();
  readonly #idle = Promise.withResolvers<void>();
  readonly #rounds: Promise<void>;
  #pulling: PullSubscription | null = null;
  #life = '';
  #lastAlive: number | null = null;
  #stopped: Promise<void> | null = null;
  #reported = '';
  #leaderlessSince: number | null = null;
  #failures = 0;
  #failuresLoggedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ConsumeOptions, context: ConsumptionContext) {
    if (!Number.isInteger(options.concurrency) || options.concurrency < 1) {
      throw new RangeError(
        `concurrency of ${options.durable} is a whole number from 1, not ${options.concurrency}`,
      );
    }
    this.durable = options.durable;
    this.#options = options;
    this.#context = context;
    this.#capacity = options.concurrency + Math.min(options.concurrency, MAX_PREFETCH);
    this.#pullAt = Math.max(1, Math.floor(this.#capacity / 4));
    this.#rounds = this.#goRound();
  }

  get inFlight(): number {
    return this.#running.size;
  }

  get active(): boolean {
    return this.#pulling !== null && !this.#stopping.signal.aborted;
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#stopping.abort();
    for (const received of this.#buffer.splice(0)) this.#answer(received, GIVE_BACK);
    await this.#pulling?.drain();
    await this.#rounds;
    if (this.#running.size > 0) await this.#idle.promise;
    const live = this.#context.connection.live;
    // The verdicts are on their way when this resolves, so that the connection may be closed.
    if (live !== null) await withinTime(live.nc.flush(), FLUSH_TIMEOUT_MS);
    this.#context.onStopped(this);
  }

  async #goRound(): Promise<void> {
    const { signal } = this.#stopping;
    let failures = 0;
    let previous: LiveConnection | null = null;
    while (!signal.aborted) {
      const live = await this.#context.connection.next(signal);
      if (live === null) return;
      if (live !== previous) failures = 0;
      previous = live;
      const startedAt = performance.now();
      let reason: string;
      try {
        await this.#ensure(live);
        if (signal.aborted) return;
        reason = await this.#pullUntilEnd(live);
      } catch (error) {
        reason = reasonOf(error);
        if (live.up) this.#report(error instanceof BusUnusable ? 'error' : 'warn', reason);
      }
      if (signal.aborted) return;
      this.#context.logger.debug({ durable: this.durable, reason }, 'pull pulling ended');
      failures = performance.now() - startedAt > STABLE_MS ? 0 : failures + 1;
      const delay = failures === 0 ? 0 : Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (failures - 1));
      // A lost connection is waited for above: a server that shuts down says so before it hangs up.
      if (live.up) await Promise.race([sleep(delay, undefined, { signal }).catch(() => {}), live.lost]);
    }
  }

  async #ensure(live: LiveConnection): Promise<void> {
    const { durable, type } = this.#options;
    const provision = () => this.#context.provision(live);
    const ensure = () => ensureDurable(live.jsm, durable, type, this.#lastAlive, provision);
    const info = await ensure().catch(async (error: unknown) => {
      if (isTimeout(error)) await this.#mendLeaderless(live);
      if (!isStreamNotFound(error)) throw error;
      await provision();
      return ensure();
    });
    this.#leaderlessSince = null;
    this.#life = info.created;
    this.#report('debug', 'consuming');
  }

  /**
   * Of a cluster: the stream has a leader and its consumer has none, for longer than any election takes. The server that
   * had it alone is gone, or they cannot agree (seen on 2.9.10, when a server died while a consumer was being copied). It
   * holds nothing that is not in the log.
   */
  async #mendLeaderless(live: LiveConnection): Promise<void> {
    if ((await whyNotLed(live.jsm)) !== null) {
      this.#leaderlessSince = null;
      return;
    }
    const now = performance.now();
    this.#leaderlessSince ??= now;
    if (now - this.#leaderlessSince < this.#context.leaderlessMs) return;
    this.#leaderlessSince = null;
    this.#context.logger.warn({ durable: this.durable }, 'the consumer has no leader: making it anew');
    await deleteDurable(live.jsm, this.durable);
  }

  async #pullUntilEnd(live: LiveConnection): Promise<string> {
    const pulling = new PullSubscription(
      live.nc,
      this.durable,
      (message) => this.#receive(message),
      () => this.#pull(),
    );
    void live.lost.then(() => pulling.end('connection lost'));
    const timer = setInterval(() => {
      pulling.lookForSilence();
      this.#touchOld();
    }, LOOK_EVERY_MS);
    this.#pulling = pulling;
    this.#pull();
    try {
      return await pulling.ended;
    } finally {
      clearInterval(timer);
      this.#pulling = null;
    }
  }

  #pull(): void {
    const pulling = this.#pulling;
    if (pulling === null || this.#stopping.signal.aborted) return;
    const room = this.#capacity - this.#running.size - this.#buffer.length - pulling.outstanding;
    if (room < this.#pullAt) return;
    try {
      pulling.request(room);
    } catch (error) {
      pulling.end(reasonOf(error));
    }
  }

  #receive(message: Msg): void {
    const received: Received = { message, life: this.#life, touchedAt: performance.now() };
    this.#lastAlive = Date.now();
    if (this.#stopping.signal.aborted) {
      this.#answer(received, GIVE_BACK);
      return;
    }
    this.#buffer.push(received);
    this.#dispatch();
    this.#pull();
  }

  #dispatch(): void {
    while (this.#running.size < this.#options.concurrency) {
      const received = this.#buffer.shift();
      if (received === undefined) return;
      this.#running.add(received);
      void this.#handle(received);
    }
  }

  async #handle(received: Received): Promise<void> {
    const payload = await this.#judge(received.message).catch((error: unknown) => {
      this.#sayFailure(error);
      return retryIn(backoffMs(deliveriesOf(received.message.reply)));
    });
    this.#running.delete(received);
    this.#answer(received, payload);
    if (this.#stopping.signal.aborted) {
      if (this.#running.size === 0) this.#idle.resolve();
      return;
    }
    this.#dispatch();
    this.#pull();
  }

  /** What to answer to the server. Throws what the handler threw when another delivery may help. */
  async #judge(message: Msg): Promise<Uint8Array | string> {
    const hint = parseHint(message);
    if (hint === null) return this.#bury(message, null, 'the message is no hint');
    try {
      return ackPayload(await this.#options.handler(hint));
    } catch (error) {
      const tried = deliveriesOf(message.reply) >= MAX_TRIES;
      if (!saysNoRetryHelps(error) && !(tried && !saysRetryHelps(error))) throw error;
      return this.#bury(message, hint, reasonOf(error));
    }
  }

  async #bury(message: Msg, hint: Hint | null, reason: string): Promise<Uint8Array> {
    const deliveries = deliveriesOf(message.reply);
    const letter = { durable: this.durable, subject: message.subject, hint, reason, deliveries };
    if (this.#options.onDeadLetter === undefined) this.#context.logger.error(letter, 'dead letter');
    else await this.#options.onDeadLetter(letter);
    return TERMINATE;
  }

  /** Dropped when the server is away or the consumer is another one: the hint comes again, which is harmless. */
  #answer(received: Received, payload: Uint8Array | string): void {
    const live = this.#context.connection.live;
    const { reply } = received.message;
    if (live === null || reply === undefined || received.life !== this.#life) return;
    try {
      live.nc.publish(reply, payload);
    } catch (error) {
      this.#context.logger.debug({ durable: this.durable, reason: reasonOf(error) }, 'verdict not sent');
    }
  }

  #touchOld(): void {
    const now = performance.now();
    for (const received of [...this.#running, ...this.#buffer]) {
      if (now - received.touchedAt < TOUCH_AFTER_MS) continue;
      received.touchedAt = now;
      this.#answer(received, IN_PROGRESS);
    }
  }

  #report(level: 'debug' | 'warn' | 'error', what: string): void {
    if (what === this.#reported) return;
    this.#reported = what;
    this.#context.logger[level]({ durable: this.durable, type: this.#options.type }, `hints: ${what}`);
  }

  #sayFailure(error: unknown): void {
    this.#failures++;
    const now = performance.now();
    if (now - this.#failuresLoggedAt < FAILURES_LOG_EVERY_MS) return;
    const fields = { durable: this.durable, failures: this.#failures, err: error };
    this.#failuresLoggedAt = now;
    this.#failures = 0;
    this.#context.logger.warn(fields, 'a hint could not be handled and comes again');
  }
}

function parseHint(message: Msg): Hint | null {
  let body: unknown;
  try {
    body = message.json();
  } catch {
    return null;
  }
  const parsed = hintSchema.safeParse(body);
  if (!parsed.success) return null;
  if (parsed.data.traceparent !== undefined) return parsed.data;
  // Looked at only here: decoding headers costs as much as all the rest.
  const traceparent = message.headers?.get('traceparent');
  return traceparent ? { ...parsed.data, traceparent } : parsed.data;
}

/** An outage says so of itself, and is waited out however long it takes. */
function saysRetryHelps(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'retryable' in error && error.retryable === true;
}

function saysNoRetryHelps(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'retryable' in error && error.retryable === false;
}
