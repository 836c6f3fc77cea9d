import type { Fault } from './schedule.ts';

/**
 * Everything that is visible of a run from outside, as plain data: answers to senders, the log, what targets, the model and
 * commands saw, and the injected faults. The checker judges only this. Times are milliseconds of the machine's clock, which
 * Postgres uses as well.
 */
export interface History {
  readonly posts: readonly Posted[];
  readonly messages: readonly Messaged[];
  readonly events: readonly LoggedEvent[];
  readonly received: readonly Received[];
  readonly modelCalls: readonly ModelCall[];
  /** How often each effect of a command happened, by name. */
  readonly effects: ReadonlyMap<string, number>;
  readonly faults: readonly Injected[];
  readonly views: { readonly actual: unknown; readonly folded: unknown };
  readonly deadLetters: readonly string[];
  /** Launcher messages about programs that ended without an injected fault. */
  readonly falls: readonly string[];
  /** Invalid requests that the stand-ins got. */
  readonly problems: readonly string[];
}

/** A webhook, with every try of its sender and the answer to each. */
export interface Posted {
  /** Identifies the piece of work. It is in the prompt, the answer and the effects. */
  readonly key: string;
  readonly kind: string;
  readonly deliveryId: string;
  readonly at: number;
  readonly answers: readonly { readonly status: number; readonly sessionId: string; readonly at: number }[];
}

/** A message by API, or the answer to a question. */
export interface Messaged {
  readonly key: string;
  readonly what: 'message' | 'answer' | 'cancel';
  readonly text: string;
  /** The session that took it; null if it was never accepted. */
  readonly sessionId: string | null;
}

export interface LoggedEvent {
  readonly stream: string;
  readonly version: number;
  readonly type: string;
  readonly recordedAt: number;
  readonly data: Readonly<Record<string, unknown>>;
  readonly traceparent: string | null;
}

/** A message that a target accepted and shows, whatever answer the sender got. */
export interface Received {
  readonly at: number;
  readonly target: string;
  /** Where at the target: the path of the URL, or the chat. */
  readonly place: string;
  /** Null if the target does not get it. Then the place identifies the session. */
  readonly session: string | null;
  readonly version: number | null;
  readonly text: string;
  /** It is marked as a possible duplicate. */
  readonly marked: boolean;
}

export interface ModelCall {
  readonly key: string;
  readonly from: number;
  /** When the connection ended; null while it is open. */
  readonly until: number | null;
}

export interface Injected {
  readonly fault: Fault;
  readonly from: number;
  readonly until: number;
}
