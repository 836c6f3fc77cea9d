import { type Hint, hintSchema, isPermanent, isRetryable } from '@angelia/contracts';
import { pause, within } from '@angelia/waiting';
import type { Msg } from '@nats-io/transport-node';
import type { Connection, LiveConnection } from '../connect/connection.ts';
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

/** Buffered beyond what is being handled: enough to bridge the way to the server, at most one per handler. */
const MAX_PREFETCH = 256;
/** After this long we tell the server that a message is in progress, before the server hands it to somebody else. */
const REPORT_PROGRESS_MS = ACK_WAIT_MS / 3;
/** For a handler that fails although the infrastructure works: some seconds of retries, then it is a dead letter. */
const MAX_TRIES = 6;
/** A pull subscription that ends sooner counts as a failure, and the next try waits longer. */
const STABLE_MS = 2_000;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;
/** A failing dependency fails every hint. It is logged this often, with the count. */
const FAILURES_LOG_EVERY_MS = 10_000;
const FLUSH_TIMEOUT_MS = 2_000;

interface Received {
  readonly message: Msg;
  /** The life of the consumer that it came from. Sequences restart, so an ack for an earlier life would ack another message. */
  readonly life: string;
  reportedAt: number;
}

/** What becomes of a message, to be sent. */
interface Answer {
  readonly received: Received;
  readonly payload: Uint8Array | string;
}

interface ConsumptionContext {
  readonly connection: Connection;
  readonly logger: BusLogger;
  readonly provision: (live: LiveConnection) => Promise<unknown>;
  readonly leaderlessMs: number;
  readonly onStopped: (consumption: DurableConsumption) => void;
}

/**
 * Pulls the hints of one durable for ever. Each round: wait for a connection, ensure stream and durable, pull until the
 * subscription ends (connection lost, durable or stream deleted, server silent). Buffered messages and running handlers
 * survive a round.
 */
export class DurableConsumption implements Consumption {
  readonly durable: string;
  readonly #options: ConsumeOptions;
  readonly #context: ConsumptionContext;
  readonly #capacity: number;
  readonly #pullAt: number;
  readonly #buffer: Received[] = [];
  readonly #running = new Set<Received>();
  #answers: Answer[] = [];
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
        `concurrency of ${options.durable} must be a whole number from 1, not ${options.concurrency}`,
      );
    }
    this.durable = options.durable;
    this.#options = options;
    this.#context = context;
    this.#capacity = options.concurrency + Math.min(options.concurrency, MAX_PREFETCH);
    this.#pullAt = Math.max(1, Math.floor(this.#capacity / 4));
    this.#rounds = this.#runRounds();
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

  /** Call it every second: notices a server that has forgotten the pull request, and reports handlers that take long. */
  check(): void {
    if (this.#pulling === null) return;
    this.#pulling.checkSilence();
    this.#reportProgress();
  }

  async #stop(): Promise<void> {
    this.#stopping.abort();
    for (const received of this.#buffer.splice(0)) this.#answer(received, GIVE_BACK);
    await this.#pulling?.drain();
    await this.#rounds;
    if (this.#running.size > 0) await this.#idle.promise;
    this.#sendAnswers();
    const live = this.#context.connection.live;
    // When this resolves, the verdicts are sent and the connection may be closed.
    if (live !== null) await within(FLUSH_TIMEOUT_MS, live.nc.flush()).catch(() => {});
    this.#context.onStopped(this);
  }

  async #runRounds(): Promise<void> {
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
      this.#context.logger.debug({ durable: this.durable, reason }, 'pull subscription ended');
      failures = performance.now() - startedAt > STABLE_MS ? 0 : failures + 1;
      const delay = failures === 0 ? 0 : Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (failures - 1));
      // The next round waits for the connection: a server that shuts down reports it before it disconnects.
      if (live.up) await Promise.race([pause(delay, signal), live.lost]);
    }
  }

  async #ensure(live: LiveConnection): Promise<void> {
    const { durable, type } = this.#options;
    const provision = () => this.#context.provision(live);
    const ensure = () =>
      ensureDurable(live.jsm, { durable, type, lastAlive: this.#lastAlive, beforeCreate: provision });
    const info = await ensure().catch(async (error: unknown) => {
      if (isTimeout(error)) await this.#replaceLeaderless(live);
      if (!isStreamNotFound(error)) throw error;
      await provision();
      return ensure();
    });
    this.#leaderlessSince = null;
    this.#life = info.created;
    this.#report('debug', 'consuming');
  }

  /**
   * In a cluster: the stream has a leader, but its consumer has had none for longer than any election takes. The only server
   * that had it is gone, or the servers cannot agree (seen on 2.9.10, when a server died while a consumer was being
   * copied). It holds nothing that is not in the log, so it is made again.
   */
  async #replaceLeaderless(live: LiveConnection): Promise<void> {
    if ((await whyNotLed(live.jsm)) !== null) {
      this.#leaderlessSince = null;
      return;
    }
    const now = performance.now();
    this.#leaderlessSince ??= now;
    if (now - this.#leaderlessSince < this.#context.leaderlessMs) return;
    this.#leaderlessSince = null;
    this.#context.logger.warn({ durable: this.durable }, 'the consumer has no leader; creating it again');
    await deleteDurable(live.jsm, this.durable);
  }

  async #pullUntilEnd(live: LiveConnection): Promise<string> {
    const pulling = new PullSubscription(live.nc, this.durable, {
      onMessage: (message) => this.#receive(message),
      onExpired: () => this.#pull(),
    });
    void live.lost.then(() => pulling.end('connection lost'));
    this.#pulling = pulling;
    this.#pull();
    try {
      return await pulling.ended;
    } finally {
      this.#pulling = null;
    }
  }

  #pull(): void {
    const pulling = this.#pulling;
    if (pulling === null || this.#stopping.signal.aborted) return;
    const free = this.#capacity - this.#running.size - this.#buffer.length - pulling.outstanding;
    if (free < this.#pullAt) return;
    try {
      pulling.request(free);
    } catch (error) {
      pulling.end(reasonOf(error));
    }
  }

  #receive(message: Msg): void {
    const received: Received = { message, life: this.#life, reportedAt: performance.now() };
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
      this.#logFailure(error);
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

  /** What to answer to the server. Throws the handler's error if another delivery may help. */
  async #judge(message: Msg): Promise<Uint8Array | string> {
    const hint = parseHint(message);
    if (hint === null) return this.#recordDeadLetter(message, null, 'the message is not a hint');
    try {
      return ackPayload(await this.#options.handler(hint));
    } catch (error) {
      // An outage calls itself retryable, and is waited out however long it takes.
      const exhausted = deliveriesOf(message.reply) >= MAX_TRIES && !isRetryable(error);
      if (!isPermanent(error) && !exhausted) throw error;
      return this.#recordDeadLetter(message, hint, reasonOf(error));
    }
  }

  async #recordDeadLetter(message: Msg, hint: Hint | null, reason: string): Promise<Uint8Array> {
    const deliveries = deliveriesOf(message.reply);
    const letter = { durable: this.durable, subject: message.subject, hint, reason, deliveries };
    if (this.#options.onDeadLetter === undefined) this.#context.logger.error(letter, 'dead letter');
    else await this.#options.onDeadLetter(letter);
    return TERMINATE;
  }

  /**
   * Sent at the end of this turn of the event loop, together with the other verdicts of the turn. The client writes to its
   * socket once per microtask that publishes, and one commit completes many handlers at once.
   */
  #answer(received: Received, payload: Uint8Array | string): void {
    if (this.#answers.length === 0) setImmediate(() => this.#sendAnswers());
    this.#answers.push({ received, payload });
  }

  /**
   * Not sent if the server is unreachable or the consumer has been replaced. Then the hint is redelivered, which is harmless.
   */
  #sendAnswers(): void {
    const answers = this.#answers;
    this.#answers = [];
    const live = this.#context.connection.live;
    if (live === null) return;
    try {
      for (const { received, payload } of answers) {
        const { reply } = received.message;
        if (reply !== undefined && received.life === this.#life) live.nc.publish(reply, payload);
      }
    } catch (error) {
      this.#context.logger.debug({ durable: this.durable, reason: reasonOf(error) }, 'verdicts not sent');
    }
  }

  #reportProgress(): void {
    const now = performance.now();
    for (const received of [...this.#running, ...this.#buffer]) {
      if (now - received.reportedAt < REPORT_PROGRESS_MS) continue;
      received.reportedAt = now;
      this.#answer(received, IN_PROGRESS);
    }
  }

  #report(level: 'debug' | 'warn' | 'error', what: string): void {
    if (what === this.#reported) return;
    this.#reported = what;
    this.#context.logger[level]({ durable: this.durable, type: this.#options.type }, `hints: ${what}`);
  }

  #logFailure(error: unknown): void {
    this.#failures++;
    const now = performance.now();
    if (now - this.#failuresLoggedAt < FAILURES_LOG_EVERY_MS) return;
    const fields = { durable: this.durable, failures: this.#failures, err: error };
    this.#failuresLoggedAt = now;
    this.#failures = 0;
    this.#context.logger.warn(fields, 'hint failed; will be redelivered');
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
  // Only if needed: decoding headers costs as much as all the rest.
  const traceparent = message.headers?.get('traceparent');
  return traceparent ? { ...parsed.data, traceparent } : parsed.data;
}
