import { onTicks } from '@angelia/waiting';
import { Connection, type LiveConnection } from './connect/connection.ts';
import { consumerLag } from './consume/consumer-lag.ts';
import { DurableConsumption } from './consume/consumption.ts';
import { CoreMessages, callListener } from './core/core-messages.ts';
import { BusUnavailable, reasonOf } from './errors.ts';
import { HintPublisher } from './publish/hint-publisher.ts';
import { publishUnacked } from './publish/publish-hints.ts';
import { ensureStream } from './stream/ensure-stream.ts';
import { RecreationWatch } from './stream/recreation-watch.ts';
import { whyNotLed } from './stream/stream-health.ts';
import type {
  Bus,
  BusOptions,
  ConsumeOptions,
  ConsumerLag,
  Consumption,
  OutgoingHint,
  SubscribeOptions,
} from './types.ts';

/** Returns at once and connects in the background, for ever. Throws BusUrlInvalid. */
export function connectBus(options: BusOptions): Bus {
  return new JetStreamBus(options);
}

/** Several elections of a 2.9 server (4 to 9 s each). If too short, a consumer that is electing its leader would be made again. */
const LEADERLESS_MS = 45_000;
/** One timer for all consumers of the process: each timer of its own would wake an idle process once more. */
const CHECK_EVERY_MS = 1_000;

class JetStreamBus implements Bus {
  readonly #options: BusOptions;
  readonly #connection: Connection;
  readonly #core: CoreMessages;
  readonly #publisher: HintPublisher;
  readonly #watch: RecreationWatch;
  readonly #consumptions = new Set<DurableConsumption>();
  readonly #onRecreated = new Set<() => void>();
  #endChecks: (() => void) | null = null;
  #closed: Promise<void> | null = null;

  constructor(options: BusOptions) {
    const { logger } = options;
    this.#options = options;
    this.#watch = new RecreationWatch(() => {
      for (const listener of this.#onRecreated) callListener(logger, 'stream recreated', listener);
    });
    this.#publisher = new HintPublisher({
      logger,
      provision: (live) => this.#provision(live),
      onAck: (ack) => this.#watch.sawAck(ack),
    });
    this.#connection = new Connection(options);
    this.#core = new CoreMessages(this.#connection, logger);
    this.#connection.onConnected((live) => {
      // The store may have been emptied while the server was away. Whoever needs the stream ensures it again.
      this.#provision(live).catch((error: unknown) => {
        if (live.up) logger.warn({ reason: reasonOf(error) }, 'the hint stream cannot be created yet');
      });
    });
  }

  get connected(): boolean {
    return this.#connection.live !== null;
  }

  get serverVersion(): string | null {
    return this.#connection.live?.serverVersion ?? null;
  }

  whenReady(): Promise<void> {
    return this.#connection.whenReady();
  }

  async problem(): Promise<string | null> {
    const live = this.#connection.live;
    if (live === null) return this.#connection.unusable?.message ?? 'NATS is away';
    return whyNotLed(live.jsm);
  }

  async provision(): Promise<{ created: boolean }> {
    return this.#provision(this.#connection.required());
  }

  async #provision(live: LiveConnection): Promise<{ created: boolean }> {
    const seen = await ensureStream(live.jsm, this.#options.replicas, this.#watch.hasSeenStream);
    this.#watch.sawStream(seen, Date.now());
    return { created: seen.created };
  }

  async publishHints(hints: readonly OutgoingHint[]): Promise<{ streamWasRecreated: boolean }> {
    if (hints.length === 0) return { streamWasRecreated: false };
    await this.#publisher.publish(this.#connection.required(), hints);
    return { streamWasRecreated: this.#watch.takeRecreated() };
  }

  hint(hints: readonly OutgoingHint[]): void {
    const live = this.#connection.live;
    if (live === null) return;
    try {
      for (const hint of hints) publishUnacked(live.nc, hint);
    } catch (error) {
      this.#options.logger.debug({ reason: reasonOf(error) }, 'hints dropped');
    }
  }

  onStreamRecreated(listener: () => void): () => void {
    this.#onRecreated.add(listener);
    return () => this.#onRecreated.delete(listener);
  }

  consume(options: ConsumeOptions): Consumption {
    if (this.#closed !== null) throw new BusUnavailable('the bus is closed');
    const consumption = new DurableConsumption(options, {
      connection: this.#connection,
      logger: this.#options.logger,
      provision: (live) => this.#provision(live),
      leaderlessMs: this.#options.leaderlessMs ?? LEADERLESS_MS,
      onStopped: (stopped) => {
        this.#consumptions.delete(stopped);
        if (this.#consumptions.size > 0) return;
        this.#endChecks?.();
        this.#endChecks = null;
      },
    });
    this.#consumptions.add(consumption);
    this.#endChecks ??= onTicks(CHECK_EVERY_MS, () => {
      for (const one of this.#consumptions) one.check();
    });
    return consumption;
  }

  async consumerLag(): Promise<ConsumerLag[]> {
    const { jsm } = this.#connection.required();
    try {
      return await consumerLag(jsm);
    } catch (error) {
      throw new BusUnavailable(`the consumers cannot be listed: ${reasonOf(error)}`, { cause: error });
    }
  }

  ping(subject: string, payload?: string): void {
    this.#core.ping(subject, payload);
  }

  subscribe(
    subject: string,
    listener: (subject: string, payload: string) => void,
    options?: SubscribeOptions,
  ): () => void {
    return this.#core.subscribe(subject, listener, options);
  }

  request(subject: string, payload: string, timeoutMs: number): Promise<string | null> {
    return this.#core.request(subject, payload, timeoutMs);
  }

  respond(subject: string, answer: (payload: string) => Promise<string | null>): () => void {
    return this.#core.respond(subject, answer);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#consumptions].map((consumption) => consumption.stop()));
    await this.#connection.close();
  }
}
