import { createInbox, type Subscription } from '@nats-io/transport-node';
import type { Connection, LiveConnection } from '../connect/connection.ts';
import { reasonOf } from '../errors.ts';
import type { BusLogger, SubscribeOptions } from '../types.ts';

interface CoreListener {
  readonly subject: string;
  /** Only one of the listeners with this name gets each message. */
  readonly queue?: string | undefined;
  readonly listener: (subject: string, payload: string, reply?: string) => void;
  subscription: Subscription | null;
}

/** Messages of core NATS: pings, subscriptions, requests and answers. At most once; subscriptions survive reconnects. */
export class CoreMessages {
  readonly #connection: Connection;
  readonly #logger: BusLogger;
  readonly #listeners = new Set<CoreListener>();

  constructor(connection: Connection, logger: BusLogger) {
    this.#connection = connection;
    this.#logger = logger;
    connection.onConnected((live) => {
      for (const listener of this.#listeners) this.#attach(listener, live);
    });
  }

  ping(subject: string, payload = ''): void {
    try {
      this.#connection.live?.nc.publish(subject, payload);
    } catch (error) {
      this.#logger.debug({ subject, reason: reasonOf(error) }, 'ping dropped');
    }
  }

  subscribe(
    subject: string,
    listener: (subject: string, payload: string) => void,
    { queue }: SubscribeOptions = {},
  ): () => void {
    return this.#listen({ subject, queue, listener, subscription: null });
  }

  async request(subject: string, payload: string, timeoutMs: number): Promise<string | null> {
    const { nc } = this.#connection.required();
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
    return this.#listen({
      subject,
      listener: (_subject, payload, reply) => {
        if (reply === undefined) return;
        answer(payload).then(
          (text) => (text === null ? undefined : this.ping(reply, text)),
          (error: unknown) =>
            this.#logger.warn({ subject, reason: reasonOf(error) }, 'answering a request failed'),
        );
      },
      subscription: null,
    });
  }

  #listen(entry: CoreListener): () => void {
    this.#listeners.add(entry);
    if (this.#connection.live !== null) this.#attach(entry, this.#connection.live);
    return () => {
      this.#listeners.delete(entry);
      entry.subscription?.unsubscribe();
    };
  }

  #attach(entry: CoreListener, live: LiveConnection): void {
    const { subject, queue, listener } = entry;
    entry.subscription = live.nc.subscribe(subject, {
      ...(queue === undefined ? {} : { queue }),
      callback: (error, message) => {
        if (error) this.#logger.warn({ subject, reason: error.message }, 'subscription refused');
        else
          callListener(this.#logger, subject, () =>
            listener(message.subject, message.string(), message.reply),
          );
      },
    });
  }
}

/** A listener that throws must not end the connection's read loop. */
export function callListener(logger: BusLogger, what: string, listener: () => void): void {
  try {
    listener();
  } catch (error) {
    logger.error({ what, err: error }, 'a bus listener failed');
  }
}
