import type { Fault } from './schedule.ts';

/**
 * All that is known of a run from outside, in plain data: what senders were told, what the log holds, what targets, the
 * model and the commands saw, what was broken. The checker judges this and nothing else. Times are milliseconds of the
 * machine's clock, which is also Postgres'.
 */
export interface History {
  readonly posts: readonly Posted[];
  readonly messages: readonly Messaged[];
  readonly events: readonly LoggedEvent[];
  readonly received: readonly Received[];
  readonly modelCalls: readonly ModelCall[];
  /** How often each effect of a command was had, by its name. */
  readonly effects: ReadonlyMap<string, number>;
  readonly faults: readonly Injected[];
  readonly views: { readonly actual: unknown; readonly folded: unknown };
  readonly deadLetters: readonly string[];
  /** Programs that ended, in the launcher's words, although nobody had broken them. */
  readonly falls: readonly string[];
  /** What stand-ins found wrong with requests. */
  readonly problems: readonly string[];
}

/** A webhook, with every try of its sender and what each was answered. */
export interface Posted {
  /** Names the piece of work; it is in the prompt, in the answer and in the effects. */
  readonly key: string;
  readonly kind: string;
  readonly deliveryId: string;
  readonly at: number;
  readonly answers: readonly { readonly status: number; readonly sessionId: string; readonly at: number }[];
}

/** A further message by the API, or the answer to a question. */
export interface Messaged {
  readonly key: string;
  readonly what: 'message' | 'answer' | 'cancel';
  readonly text: string;
  /** Of the session that it came to; null: it was never taken. */
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

/** A message that a target took: it shows it, whatever its sender was told. */
export interface Received {
  readonly at: number;
  readonly target: string;
  /** Where at the target: the path of the url, the chat. */
  readonly place: string;
  /** null where the target is not told (then the place tells). */
  readonly session: string | null;
  readonly version: number | null;
  readonly text: string;
  /** It says that it may be a second copy. */
  readonly marked: boolean;
}

export interface ModelCall {
  readonly key: string;
  readonly from: number;
  /** When the connection was over; null: not yet. */
  readonly until: number | null;
}

export interface Injected {
  readonly fault: Fault;
  readonly from: number;
  readonly until: number;
}
