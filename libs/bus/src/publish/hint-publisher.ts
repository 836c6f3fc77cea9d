import { JetStreamApiError, type JetStreamClient, jetstream, type PubAck } from '@nats-io/jetstream';
import type { LiveConnection } from '../connect/connection.ts';
import { BusUnavailable, isBusError, NoStream, reasonOf } from '../errors.ts';
import { isLeaderless } from '../jetstream-errors.ts';
import { deleteStream, isStreamUnreadable } from '../stream/stream-health.ts';
import type { BusLogger, OutgoingHint } from '../types.ts';
import { publishAll } from './publish-hints.ts';

/** Two requests each time. A stream that hands nothing out delays everybody for at most this long. */
const CHECK_STREAM_MS = 5_000;

interface HintPublisherOptions {
  readonly logger: BusLogger;
  readonly provision: (live: LiveConnection) => Promise<unknown>;
  readonly onAck: (ack: PubAck) => void;
}

/** Publishes hints. Makes the stream again if it is gone or the server cannot read it. */
export class HintPublisher {
  readonly #options: HintPublisherOptions;
  #client: { live: LiveConnection; js: JetStreamClient } | null = null;
  #streamCheckedAt = Number.NEGATIVE_INFINITY;
  #repairing: Promise<boolean> | null = null;

  constructor(options: HintPublisherOptions) {
    this.#options = options;
  }

  /** Resolves when the server has stored all of them. Throws BusUnavailable or BusUnusable. */
  async publish(live: LiveConnection, hints: readonly OutgoingHint[]): Promise<void> {
    try {
      try {
        await this.#publish(live, hints);
        if (performance.now() - this.#streamCheckedAt > CHECK_STREAM_MS) await this.#repair(live, false);
      } catch (error) {
        if (error instanceof NoStream) await this.#options.provision(live);
        // The server itself refused. Unless its store is broken, the caller gets the error.
        else if (!(error instanceof JetStreamApiError) || isLeaderless(error)) throw error;
        else if (!(await this.#repair(live, true))) throw error;
        await this.#publish(live, hints);
      }
    } catch (error) {
      if (isBusError(error) || error instanceof TypeError) throw error;
      throw new BusUnavailable(`hints not published: ${reasonOf(error)}`, { cause: error });
    }
  }

  #publish(live: LiveConnection, hints: readonly OutgoingHint[]): Promise<void> {
    if (this.#client?.live !== live) this.#client = { live, js: jetstream(live.nc) };
    return publishAll(live.nc, this.#client.js, hints, this.#options.onAck);
  }

  /** True if the stream was unreadable and has been made again. One call at a time. */
  #repair(live: LiveConnection, refused: boolean): Promise<boolean> {
    this.#repairing ??= (async () => {
      if (!(await isStreamUnreadable(live.jsm, { refused }))) return false;
      this.#options.logger.warn({}, 'the server cannot read its own hint stream; creating it again');
      await deleteStream(live.jsm);
      await this.#options.provision(live);
      return true;
    })().finally(() => {
      this.#streamCheckedAt = performance.now();
      this.#repairing = null;
    });
    return this.#repairing;
  }
}
