import type { Hint } from '@angelia/contracts';

/** The part of pino that the bus uses. */
export interface BusLogger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export type BusStatus =
  | { readonly connected: true; readonly serverVersion: string }
  | { readonly connected: false; readonly reason: string };

export interface BusOptions {
  /** `nats://host:port`, `nats://token@host`, `nats://user:password@host`; several, separated by commas, for a cluster. */
  readonly url: string;
  /** Shown by the server for this connection. */
  readonly name: string;
  /** Replicas of the stream. More than 1 needs a cluster. */
  readonly replicas: number;
  readonly logger: BusLogger;
  /** For tests. Default: as long as a cluster may need to elect a leader. */
  readonly leaderlessMs?: number;
  /** Called on every change, never twice with the same status. */
  readonly onStatus?: (status: BusStatus) => void;
}

/** `messageId`: the event id from the relay; a new one from timers and sweep, which the duplicate window would drop otherwise. */
export type OutgoingHint = Hint & { readonly messageId: string };

export type HintVerdict = 'done' | { readonly retryInMs: number };

/** A message that cannot succeed, however often it is redelivered. */
export interface DeadLetter {
  readonly durable: string;
  readonly subject: string;
  /** Null if the message is not a hint. */
  readonly hint: Hint | null;
  readonly reason: string;
  readonly deliveries: number;
}

export interface ConsumeOptions {
  /** Name of the durable consumer: one per service and type, shared by its replicas. */
  readonly durable: string;
  /** An event type or an owner hint. */
  readonly type: string;
  /** How many handlers run at once. Also bounds the buffered messages. */
  readonly concurrency: number;
  /**
   * `'done'` acks. `{ retryInMs }` asks for the hint again. Throwing does so too, with a growing delay.
   * An error with `retryable: false` goes to `onDeadLetter` instead.
   */
  readonly handler: (hint: Hint) => Promise<HintVerdict>;
  /** Resolves: the message leaves the bus. Rejects: it is redelivered. Without it, dead letters are logged as errors. */
  readonly onDeadLetter?: (letter: DeadLetter) => Promise<void>;
}

export interface Consumption {
  readonly durable: string;
  /** Handlers that run now. */
  readonly inFlight: number;
  /** Whether it pulls now. False while the server is away, before the first pull and after stop(). */
  readonly active: boolean;
  /** Takes no new messages and waits for the running handlers. Buffered messages go back to the server at once. */
  stop(): Promise<void>;
}

export interface ConsumerLag {
  readonly durable: string;
  /** Hints that are not handed out yet. */
  readonly pending: number;
  /** Hints that are handed out and not acked. */
  readonly ackPending: number;
}

export interface SubscribeOptions {
  /** Only one of the listeners with this name gets each message. */
  readonly queue?: string | undefined;
}

export interface Bus {
  readonly connected: boolean;
  readonly serverVersion: string | null;
  /** Resolves when connected to a usable server. Rejects with BusUnusable if the server is not usable, and when closed. */
  whenReady(): Promise<void>;
  /**
   * Why no hint can be stored or fetched now, in words for an operator. Null if all is well. A server that answers is not
   * enough: in a cluster that lost its majority, the other servers still answer.
   */
  problem(): Promise<string | null>;
  /** Ensures the stream and its limits. Idempotent. `created`: there was none (each of several simultaneous callers gets it). */
  provision(): Promise<{ created: boolean }>;
  /**
   * Resolves when the server has stored all of them. `streamWasRecreated`: the stream is another one than at the last call,
   * so earlier hints may be lost. Throws BusUnavailable. Publishing the same hints again is harmless.
   */
  publishHints(hints: readonly OutgoingHint[]): Promise<{ streamWasRecreated: boolean }>;
  /**
   * Publishes hints without waiting for the server to store them. Those that are lost, as all are while the server is
   * away, are for the relay to publish again.
   */
  hint(hints: readonly OutgoingHint[]): void;
  /**
   * Calls back when the stream turns out to be new or another one, also when nothing is published. The caller hints what is
   * unsettled. Returns a function that stops listening.
   */
  onStreamRecreated(listener: () => void): () => void;
  consume(options: ConsumeOptions): Consumption;
  /** The lag of every durable consumer of the stream, of all services. Throws BusUnavailable. */
  consumerLag(): Promise<readonly ConsumerLag[]>;
  /** Core NATS, at most once. Dropped while the server is away. */
  ping(subject: string, payload?: string): void;
  /** Core NATS. The subscription survives reconnects. Returns a function that ends it. */
  subscribe(
    subject: string,
    listener: (subject: string, payload: string) => void,
    options?: SubscribeOptions,
  ): () => void;
  /**
   * Core NATS. Sends a request on this subject and takes the first answer. Null: nobody listens, or nobody answered in
   * time. Throws BusUnavailable.
   */
  request(subject: string, payload: string, timeoutMs: number): Promise<string | null>;
  /** Core NATS. Answers requests; null leaves a request to others. Survives reconnects. Returns a function that ends it. */
  respond(subject: string, answer: (payload: string) => Promise<string | null>): () => void;
  /** Stops all consumptions, waits for their handlers, flushes and disconnects. */
  close(): Promise<void>;
}
