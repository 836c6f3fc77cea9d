import type { Hint } from '@angelia/contracts';

/** What the bus needs of a logger; pino fits. */
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
  /** Of the stream; more than 1 needs a cluster. */
  readonly replicas: number;
  readonly logger: BusLogger;
  /** For tests; else as long as a cluster may need to elect. */
  readonly leaderlessMs?: number;
  /** On every change, never twice the same. */
  readonly onStatus?: (status: BusStatus) => void;
}

/** `messageId`: the event id from the relay, a fresh one from timers and sweep (the duplicate window would swallow them). */
export type OutgoingHint = Hint & { readonly messageId: string };

export type HintVerdict = 'done' | { readonly retryInMs: number };

/** A message that no redelivery can help. */
export interface DeadLetter {
  readonly durable: string;
  readonly subject: string;
  /** Null when the message is no hint at all. */
  readonly hint: Hint | null;
  readonly reason: string;
  readonly deliveries: number;
}

export interface ConsumeOptions {
  /** Name of the durable consumer: one per service and type, shared by its replicas. */
  readonly durable: string;
  /** An event type or an owner hint. */
  readonly type: string;
  /** Handlers at work at once; also the bound on buffered messages. */
  readonly concurrency: number;
  /**
   * `'done'` acks; `{ retryInMs }` asks for the hint again; throwing does too, with a growing delay.
   * An error that says `retryable: false` goes to `onDeadLetter` instead.
   */
  readonly handler: (hint: Hint) => Promise<HintVerdict>;
  /** Resolved: the message is gone from the bus. Rejected: it comes again. Without it, dead letters are logged as errors. */
  readonly onDeadLetter?: (letter: DeadLetter) => Promise<void>;
}

export interface Consumption {
  readonly durable: string;
  /** Handlers at work right now. */
  readonly inFlight: number;
  /** Pulling right now: false while the server is away, before the first pull and after stop(). */
  readonly active: boolean;
  /** No new messages; waits for the handlers at work. What was buffered goes back to the server at once. */
  stop(): Promise<void>;
}

export interface ConsumerLag {
  readonly durable: string;
  /** Not handed out yet. */
  readonly pending: number;
  /** Handed out and not acked. */
  readonly ackPending: number;
}

export interface Bus {
  readonly connected: boolean;
  readonly serverVersion: string | null;
  /** Resolves when connected to a usable server; rejects with BusUnusable when the server is not, and when closed. */
  whenReady(): Promise<void>;
  /**
   * Why no hint can be stored or fetched now, in words for an operator; null when all is well. A server that answers is
   * not enough: of a cluster that lost its majority, the rest still does.
   */
  problem(): Promise<string | null>;
  /** Stream and limits. Idempotent; `created` when there was none (told to each of several callers at once). */
  provision(): Promise<{ created: boolean }>;
  /**
   * Resolves when the server has stored all of them. `streamWasRecreated`: the stream is not the one of the last call,
   * so that hints published before may be lost. Throws BusUnavailable; publishing the same hints again is harmless.
   */
  publishHints(hints: readonly OutgoingHint[]): Promise<{ streamWasRecreated: boolean }>;
  /**
   * Calls back when the stream turns out to be new or another one, also when nothing is published: hint what is
   * unsettled. Returns how to stop listening.
   */
  onStreamRecreated(listener: () => void): () => void;
  consume(options: ConsumeOptions): Consumption;
  /** Of every durable consumer of the stream, of whichever service. Throws BusUnavailable. */
  consumerLag(): Promise<readonly ConsumerLag[]>;
  /** Core NATS, at most once: dropped when the server is away. */
  ping(subject: string, payload?: string): void;
  /** Core NATS. The subscription outlives reconnects; returns how to end it. */
  subscribe(subject: string, listener: (subject: string, payload: string) => void): () => void;
  /**
   * Core NATS: asks whoever answers on this subject, and takes the first answer. Null: nobody answered in time, or
   * there is nobody. Throws BusUnavailable.
   */
  request(subject: string, payload: string, timeoutMs: number): Promise<string | null>;
  /** Core NATS: answers requests; null leaves one to others. Outlives reconnects; returns how to end it. */
  respond(subject: string, answer: (payload: string) => Promise<string | null>): () => void;
  /** Stops all consumptions, waits for their handlers, flushes, disconnects. */
  close(): Promise<void>;
}
