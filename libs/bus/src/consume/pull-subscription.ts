import { STREAM_NAME } from '@angelia/contracts';
import { untilTick, within } from '@angelia/waiting';
import {
  createInbox,
  type Msg,
  type NatsConnection,
  nanos,
  type Subscription,
} from '@nats-io/transport-node';

/** A pull request lives until the next tick of this period on the server, or until the one after it. */
const EXPIRES_MS = 30_000;
/** How often the server reports that a request still waits. After two and a half silent periods the subscription ends. */
const HEARTBEAT_MS = 2_000;
const SILENCE_MS = 5_000;
const DRAIN_TIMEOUT_MS = 2_000;

interface PullOptions {
  readonly onMessage: (message: Msg) => void;
  /** A request has expired, so more may be requested. */
  readonly onExpired: () => void;
  readonly expiresMs?: number;
}

/**
 * In whole milliseconds. At rest, the requests of all durables of a process expire at the same tick and are made again at
 * once, so that their heartbeats come together: one wake-up every two seconds here and in the server, not one for each durable.
 */
export function untilExpiry(periodMs: number, heartbeatMs: number): number {
  const left = Math.ceil(untilTick(periodMs));
  // The server refuses a heartbeat that is longer than half of the request's life.
  return left < 2 * heartbeatMs ? left + periodMs : left;
}

/**
 * Pull requests of one durable on one connection. It is *open* until something arrives that is not a message, a heartbeat
 * or an expired request; then it is *ended*, and the consumption ensures stream and durable and opens another one.
 * The library's consume() is not used: it refills by what it received, not by what was handled (unbounded in callback
 * mode, and its iterator costs 17 us per message against 6 here), and it waits a whole expiry between checks of a consumer
 * that is gone.
 */
export class PullSubscription {
  readonly ended: Promise<string>;
  readonly #nc: NatsConnection;
  readonly #subject: string;
  readonly #inbox: string;
  readonly #subscription: Subscription;
  readonly #onMessage: (message: Msg) => void;
  readonly #onExpired: () => void;
  readonly #end: (reason: string) => void;
  readonly #expiresMs: number;
  #outstanding = 0;
  #heardAt = performance.now();
  #suspect = false;

  constructor(
    nc: NatsConnection,
    durable: string,
    { onMessage, onExpired, expiresMs = EXPIRES_MS }: PullOptions,
  ) {
    this.#expiresMs = expiresMs;
    this.#nc = nc;
    this.#subject = `$JS.API.CONSUMER.MSG.NEXT.${STREAM_NAME}.${durable}`;
    this.#inbox = createInbox();
    this.#onMessage = onMessage;
    this.#onExpired = onExpired;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.ended = promise;
    this.#end = resolve;
    this.#subscription = nc.subscribe(this.#inbox, {
      callback: (error, message) => {
        if (error) this.end(error.message);
        else this.#receive(message);
      },
    });
  }

  /** Messages that were requested and have not arrived. */
  get outstanding(): number {
    return this.#outstanding;
  }

  request(batch: number): void {
    if (this.#outstanding === 0) this.#heardAt = performance.now();
    this.#outstanding += batch;
    const heartbeatMs = Math.min(HEARTBEAT_MS, this.#expiresMs / 2);
    this.#nc.publish(
      this.#subject,
      JSON.stringify({
        batch,
        expires: nanos(untilExpiry(this.#expiresMs, heartbeatMs)),
        idle_heartbeat: nanos(heartbeatMs),
      }),
      { reply: this.#inbox },
    );
  }

  /** Call it every second. Ends after two silent checks: if our own process was paused, the answers are still in the socket. */
  checkSilence(): void {
    const silent = this.#outstanding > 0 && performance.now() - this.#heardAt > SILENCE_MS;
    if (silent && this.#suspect) this.end('the server has forgotten the pull request');
    this.#suspect = silent;
  }

  end(reason: string): void {
    this.#end(reason);
    this.#subscription.unsubscribe();
  }

  /** Receives what is on its way, so that it can be given back, and ends. */
  async drain(): Promise<void> {
    await within(DRAIN_TIMEOUT_MS, this.#subscription.drain()).catch(() => {});
    this.#end('stopped');
  }

  #receive(message: Msg): void {
    this.#heardAt = performance.now();
    if (message.subject !== this.#inbox) {
      this.#outstanding--;
      this.#onMessage(message);
      return;
    }
    const code = message.headers?.code ?? 0;
    if (code === 100) return;
    const left = Number.parseInt(message.headers?.get('Nats-Pending-Messages') ?? '', 10);
    if (code !== 408 || Number.isNaN(left)) {
      this.end(message.headers?.description || (code === 503 ? 'no such consumer' : `status ${code}`));
      return;
    }
    this.#outstanding -= left;
    this.#onExpired();
  }
}
