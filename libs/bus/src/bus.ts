import { JetStreamApiError, type JetStreamClient, jetstream } from '@nats-io/jetstream';
import { createInbox, type Subscription } from '@nats-io/transport-node';
import { Connection, type LiveConnection } from './connect/connection.ts';
import { consumerLag } from './consume/consumer-lag.ts';
import { DurableConsumption } from './consume/consumption.ts';
import { BusUnavailable, isBusError, NoStream, reasonOf } from './errors.ts';
import { isLeaderless } from './jetstream-errors.ts';
import { publishAll } from './publish/publish-hints.ts';
import { ensureStream } from './stream/ensure-stream.ts';
import { RecreationWatch } from './stream/recreation-watch.ts';
import { deleteStream, isStreamUnreadable, whyNotLed } from './stream/stream-health.ts';
import type { Bus, BusOptions, ConsumeOptions, ConsumerLag, Consumption, OutgoingHint } from './types.ts';

/** Returns at once and connects in the background, for ever. Throws BusUrlInvalid. */
export function connectBus(options: BusOptions): Bus {
  return new JetStreamBus(options);
}

interface CoreListener {
  readonly subject: string;
  readonly listener: (subject: string, payload: string, reply?: string) => void;
  subscription: Subscription | null;
}

/** Two requests each time. A stream that hands nothing out delays everybody for at most this long. */
const CHECK_STREAM_MS = 5_000;

/** Several elections of a 2.9 server (4 to 9 s each). If too short, a consumer that is electing its leader would be made again. */
const LEADERLESS_MS = 45_000;

class JetStreamBus implements Bus {
  readonly #options: BusOptions;
  readonly #connection: Connection;
  readonly #watch: RecreationWatch;
  readonly #consumptions = new Set<DurableConsumption>();
  readonly #listeners = new Set<CoreListener>();
  readonly #onRecreated = new Set<() => void>();
  #client: { live: LiveConnection; js: JetStreamClient } | null = null;
  #closed: Promise<void> | null = null;
  #streamCheckedAt = Number.NEGATIVE_INFINITY;
  #repairing: Promise<boolean> | null = null;

  constructor(options: BusOptions) {
    this.#options = options;
    this.#watch = new RecreationWatch(() => {
      for (const listener of this.#onRecreated) this.#guard('stream recreated', listener);
    });
    this.#connection = new Connection(options);
    this.#connection.onConnected((live) => {
      for (const listener of this.#listeners) this.#attach(listener, live);
      // The store may have been emptied while the server was away. Whoever needs the stream ensures it again.
      this.#provision(live).catch((error: unknown) => {
        if (live.up)
          options.logger.warn({ reason: reasonOf(error) }, 'the hint stream cannot be created yet');
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
    return this.#provision(await this.#need());
  }

  async #provision(live: LiveConnection): Promise<{ created: boolean }> {
    const seen = await ensureStream(live.jsm, this.#options.replicas, this.#watch.hasSeenStream);
    this.#watch.sawStream(seen, Date.now());
    return { created: seen.created };
  }

  async publishHints(hints: readonly OutgoingHint[]): Promise<{ streamWasRecreated: boolean }> {
    if (hints.length === 0) return { streamWasRecreated: false };
    const live = await this.#need();
    try {
      try {
        await this.#publish(live, hints);
        if (performance.now() - this.#streamCheckedAt > CHECK_STREAM_MS) await this.#repair(live, false);
      } catch (error) {
        if (error instanceof NoStream) await this.#provision(live);
        // The server itself refused. Unless its store is broken, the caller gets the error.
        else if (!(error instanceof JetStreamApiError) || isLeaderless(error)) throw error;
        else if (!(await this.#repair(live, true))) throw error;
        await this.#publish(live, hints);
      }
    } catch (error) {
      if (isBusError(error) || error instanceof TypeError) throw error;
      throw new BusUnavailable(`hints not published: ${reasonOf(error)}`, { cause: error });
    }
    return { streamWasRecreated: this.#watch.takeRecreated() };
  }

  /** True if the stream was unreadable and has been made again. One call at a time. */
  #repair(live: LiveConnection, refused: boolean): Promise<boolean> {
    this.#repairing ??= (async () => {
      if (!(await isStreamUnreadable(live.jsm, { refused }))) return false;
      this.#options.logger.warn({}, 'the server cannot read its own hint stream; making it again');
      await deleteStream(live.jsm);
      await this.#provision(live);
      return true;
    })().finally(() => {
      this.#streamCheckedAt = performance.now();
      this.#repairing = null;
    });
    return this.#repairing;
  }

  #publish(live: LiveConnection, hints: readonly OutgoingHint[]): Promise<void> {
    if (this.#client?.live !== live) this.#client = { live, js: jetstream(live.nc) };
    return publishAll(live.nc, this.#client.js, hints, (ack) => this.#watch.sawAck(ack));
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
      onStopped: (stopped) => this.#consumptions.delete(stopped),
    });
    this.#consumptions.add(consumption);
    return consumption;
  }

  async consumerLag(): Promise<ConsumerLag[]> {
    const { jsm } = await this.#need();
    try {
      return await consumerLag(jsm);
    } catch (error) {
      throw new BusUnavailable(`the consumers cannot be listed: ${reasonOf(error)}`, { cause: error });
    }
  }

  ping(subject: string, payload = ''): void {
    try {
      this.#connection.live?.nc.publish(subject, payload);
    } catch (error) {
      this.#options.logger.debug({ subject, reason: reasonOf(error) }, 'ping dropped');
    }
  }

  subscribe(subject: string, listener: (subject: string, payload: string) => void): () => void {
    return this.#listen({ subject, listener, subscription: null });
  }

  #listen(entry: CoreListener): () => void {
    this.#listeners.add(entry);
    if (this.#connection.live !== null) this.#attach(entry, this.#connection.live);
    return () => {
      this.#listeners.delete(entry);
      entry.subscription?.unsubscribe();
    };
  }

  async request(subject: string, payload: string, timeoutMs: number): Promise<string | null> {
    const { nc } = await this.#need();
    // Several may listen, and only one may have an answer: take the first answer, not the first listener.
    const inbox = createInbox();
    return new Promise((resolve) => {
      const settle = (answer: string | null): void => {
        clearTimeout(timer);
        subscription.unsubscribe();
        resolve(answer);
      };
      const timer = setTimeout(() => settle(null), timeoutMs);
      const subscription = nc.subscribe(inbox, {
        callback: (error, message) => {
          // An empty message with a status means that nobody listens there.
          const nobody = error !== null || message.headers?.code === 503;
          settle(nobody ? null : message.string());
        },
      });
      nc.publish(subject, payload, { reply: inbox });
    });
  }

  respond(subject: string, answer: (payload: string) => Promise<string | null>): () => void {
    const entry: CoreListener = {
      subject,
      listener: (_subject, payload, reply) => {
        if (reply === undefined) return;
        answer(payload).then(
          (text) => (text === null ? undefined : this.ping(reply, text)),
          (error: unknown) =>
            this.#options.logger.warn({ subject, reason: reasonOf(error) }, 'answering a request failed'),
        );
      },
      subscription: null,
    };
    return this.#listen(entry);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#consumptions].map((consumption) => consumption.stop()));
    await this.#connection.close();
  }

  #attach(entry: CoreListener, live: LiveConnection): void {
    entry.subscription = live.nc.subscribe(entry.subject, {
      callback: (error, message) => {
        if (error)
          this.#options.logger.warn(
            { subject: entry.subject, reason: error.message },
            'subscription refused',
          );
        else
          this.#guard(entry.subject, () => entry.listener(message.subject, message.string(), message.reply));
      },
    });
  }

  /** A listener that throws must not end the connection's read loop. */
  #guard(what: string, listener: () => void): void {
    try {
      listener();
    } catch (error) {
      this.#options.logger.error({ what, err: error }, 'a bus listener failed');
    }
  }

  async #need(): Promise<LiveConnection> {
    const live = this.#connection.live;
    if (live !== null) return live;
    throw this.#connection.unusable ?? new BusUnavailable('NATS is away; the bus reconnects by itself');
  }
}
