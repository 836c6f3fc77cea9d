import type { MessagePlace } from '@angelia/chats';
import type { Chunk } from '../text/cut/chunk.ts';

/**
 * The port that every platform implements: one adapter per target, in platforms/ or in a folder of its own, listed in
 * target-registry.ts. To add one: its schema in libs/config/src/targets, an adapter here, a line in the registry (docs/targets.md).
 *
 * The core (../plan, ../gate, ../attempt) owns order, claims, retries, waits, circuits and limits. An adapter knows its
 * platform's requests and answers and nothing else. It keeps no state except its connections.
 */
export interface Target {
  readonly name: string;
  /** The platform recognises a second request with the same key: an unknown outcome is resent silently. */
  readonly idempotent: boolean;
  /** The platform's own limits, kept across sessions. */
  readonly limits?: { readonly perChat?: Rate; readonly overall?: Rate };
  /** A message names the earlier ones of its conversation (`SendRequest.earlier`). These keys of the address make it the same one. */
  readonly conversationKeys?: readonly string[];
  destination(address: TargetAddress, settings: TargetSettings): Destination;
  /**
   * Cuts the message into 1 to n chunks, each no longer than the platform takes. Pure: the same message always gives the same
   * chunks, because a retry continues after the last chunk taken.
   */
  compose(message: OutputMessage, settings: TargetSettings): readonly Chunk[];
  /** Sends one chunk. If the platform refuses the markup, it sends the chunk again, plain, within the same window. */
  send(request: SendRequest): Promise<SendResult>;
  /** Replaces the message that `receipt` names with the chunk. Left out: the platform cannot edit. */
  edit?(request: SendRequest, receipt: string): Promise<EditResult>;
  /**
   * The platform shows `OutputMessage.buttons`, at most this many, with labels of at most this many UTF-16 units, and its
   * clicks come back. Left out: a question has its choices as text and a link.
   */
  readonly buttons?: ButtonLimits;
  /**
   * A click calls an address that the message names: `clicks_url` of the settings, which is there if the platform can reach
   * it. Without it there are no buttons.
   */
  readonly clicksNeedUrl?: true;
  /** Where the message that `receipt` names stands, for replies to it. Left out or null: nobody can reply to it there. */
  placeOf?(receipt: string, address: TargetAddress): DeliveredPlace | null;
  /**
   * The message of a question is edited when the question is closed, even if it had no buttons, so that later readers see the
   * outcome.
   */
  readonly showsClosed?: true;
  /**
   * Shows for some seconds that an answer is being written. Best effort: if it rejects, it is not shown again in this run. Left
   * out: the platform has no typing indicator.
   */
  typing?(request: Pick<SendRequest, 'address' | 'settings' | 'window'>): Promise<void>;
  /**
   * Sends a file in place of the chunk. Left out: files are not sent there (`files.deliver` in the check of chats in
   * libs/config).
   */
  sendFile?(request: SendRequest, file: OutboundFile): Promise<SendResult>;
  /** Is the chunk there already? Asked before a resend when the outcome of an earlier attempt is unknown. */
  lookUp?(request: SendRequest): Promise<LookUpResult>;
  close(): Promise<void>;
}

export interface OutboundFile {
  /** Without directories, quotes and control characters. */
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array;
}

export interface ButtonLimits {
  readonly most: number;
  readonly labelLength: number;
}

/** The output, taken from its recorded event and `session.created` and nowhere else (written-before-sent). */
export interface OutputMessage {
  readonly type: 'interim-status' | 'clarification' | 'approval' | 'final-response';
  readonly sessionId: string;
  readonly version: number;
  readonly route: string;
  readonly deliveryId: string;
  /** The session's title; the subject of a mail. */
  readonly title: string;
  /** Markdown, as the agent wrote it. */
  readonly text: string;
  /**
   * Choices of a question, or the decisions about a request. Only if clicks come back from this target (`chats` in the
   * config); else the text has a link. They belong to the last chunk. An edit without them takes them away.
   */
  readonly buttons?: readonly MessageButton[];
}

export interface MessageButton {
  readonly label: string;
  /** What the click brings back (buttonData of libs/chats). */
  readonly data: string;
  readonly style?: 'primary' | 'danger';
}

export interface DeliveredPlace extends MessagePlace {
  /** The platform's id of the message, as its updates spell it. */
  readonly message: string;
}

export interface OutboundMessage extends OutputMessage {
  /** An earlier attempt may have reached the target: we do not know. */
  readonly possibleDuplicate: boolean;
}

/** The address at the target, as captured when the webhook was accepted (config-is-a-fact). */
export interface TargetAddress {
  readonly to: Readonly<Record<string, unknown>>;
  /** It came from a payload, a template or an API route: it must not lead into private networks. */
  readonly untrusted: boolean;
  /** Its host did too: it gets no credential of the config (`targets.http.headers`). Those are for hosts that the operator wrote. */
  readonly untrustedHost: boolean;
}

/** The target's part of the config file: credentials and defaults. Never written to an event, a log line or a span. */
export type TargetSettings = Readonly<Record<string, unknown>>;

/** The time in which a request may be made. */
export interface SendWindow {
  /** Aborts when the request has used up its time. */
  readonly signal: AbortSignal;
  /** Ask right before the request is written. False after the process was frozen, whatever the timers say. */
  mayBegin(): boolean;
  /** Frees the timer. */
  close(): void;
}

export interface SendRequest {
  readonly message: OutboundMessage;
  /** One of the chunks that `compose` returned for the message. The first has index 0. */
  readonly chunk: Chunk;
  readonly index: number;
  readonly count: number;
  /**
   * Mark the message (DUPLICATE_MARK): it is resent, and nothing at the platform prevents a second copy. Never set for a
   * target that is `idempotent`, nor after a look-up that found nothing.
   */
  readonly markDuplicate: boolean;
  readonly address: TargetAddress;
  readonly settings: TargetSettings;
  /** The same on every attempt at one chunk, and unique to it: `<session>.<version>`, and `.<index>` from the second chunk on. */
  readonly idempotencyKey: string;
  /** As constant and unique, and it cannot be guessed without reading the log. Ids of sessions are no secret. */
  readonly secretKey: string;
  /**
   * Receipts of what the same place received earlier from this session, else from the session that it continues; oldest first.
   * Only for a target with `conversationKeys`.
   */
  readonly earlier: readonly string[];
  /** When the message was recorded (ms): a look-up need not go further back. */
  readonly recordedAt: number;
  /** How long ago that was, by the database's clock. */
  readonly ageMs: number;
  /** When a request may begin, and how long all requests together may take. */
  readonly window: SendWindow;
}

/** What a wait holds back: the chat (or channel, thread, inbox: `chat` of the destination), or everything for the target. */
export type WaitScope = 'chat' | 'target';

/** Reasons are read by operators and kept in events: they name no secret, and only the origin of a URL. */
export type SendResult =
  /** `receipt` names what was created at the platform; `edit` gets it back. It holds no secret. */
  | {
      readonly kind: 'taken';
      readonly receipt: string | null;
      /** The platform says that its rate limit is used up for this long (Discord's headers): the chat's next send waits. */
      readonly pauseSeconds?: number;
    }
  /**
   * Not taken; a later attempt may succeed. With `retryAfterSeconds` the target said when: that spends no attempt, and holds
   * back everything else for the same `scope` (default: chat). Without it, the attempt counts against the schedule and
   * the circuit. A refused credential is retryable: an operator can fix it.
   */
  | {
      readonly kind: 'retryable';
      readonly reason: string;
      readonly retryAfterSeconds?: number;
      readonly scope?: WaitScope;
      /** The platform was not asked: this says nothing about whether it is up. */
      readonly ours?: true;
    }
  /** The request went out and no readable answer came: it may have been taken. */
  | { readonly kind: 'unknown'; readonly reason: string }
  /** No attempt at this address will succeed: the chat is gone, access is forbidden, the address is wrong. */
  | { readonly kind: 'permanent'; readonly reason: string };

export type EditResult =
  | SendResult
  /** The message is gone or may not be edited: the core sends a new one instead, in the same attempt. */
  | { readonly kind: 'gone'; readonly reason: string };

export type LookUpResult =
  | { readonly kind: 'found'; readonly receipt: string | null }
  /** Certainly not there. */
  | { readonly kind: 'absent' }
  /** The platform cannot be asked now: the attempt fails and is made again later. */
  | { readonly kind: 'retryable'; readonly reason: string; readonly retryAfterSeconds?: number }
  /** The platform can never tell. */
  | { readonly kind: 'cannot-tell'; readonly reason: string };

/** This many sends in any period of this many seconds. */
export interface Rate {
  readonly sends: number;
  readonly seconds: number;
}

export interface Destination {
  /**
   * The service that receives the requests. Sends with the same name share slots, circuit and overall rate, so a service
   * that hangs or is down holds back no other. Name it after the target and the origin.
   */
  readonly name: string;
  /** What the platform counts messages by; null: it does not. Unique within the destination. */
  readonly chat: string | null;
  /** What is up or down as one, if that is only a part of the destination: one hook of a host that has many. */
  readonly circuit?: string;
}
