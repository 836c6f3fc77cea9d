import type { SendWindow } from '../attempt/send-window.ts';

/**
 * The port behind which every platform lives: one file per target in this folder, listed in registry.ts.
 * To add one: its schema in service-kit's config/targets.ts, an adapter here, a line in the registry (docs/targets.md).
 *
 * The core (../) owns order, claims, retries, waits, circuits and limits; an adapter knows its platform's requests
 * and answers and nothing else. It keeps no state but its connections.
 */

/** What is said, taken from the recorded output and `session.created` and nowhere else (written-before-sent). */
export interface SpokenMessage {
  readonly type: 'interim-status' | 'clarification' | 'final-response';
  readonly sessionId: string;
  readonly version: number;
  readonly route: string;
  readonly deliveryId: string;
  /** The session's title; a mail has it as its subject. */
  readonly title: string;
  /** Markdown, as the agent wrote it. */
  readonly text: string;
}

export interface OutboundMessage extends SpokenMessage {
  /** An earlier attempt may have reached the target: we do not know. */
  readonly possibleDuplicate: boolean;
}

/** One message at the platform. */
export interface Piece {
  /** In the platform's own markup; `(1/3)` is part of it. */
  readonly text: string;
  /** The same without markup, for a platform that refuses it; left out where there is no difference. */
  readonly plain?: string;
}

/** Put before a piece that is resent blindly. Whoever composes leaves room for it (`DUPLICATE_MARK.length` units). */
export const DUPLICATE_MARK = '(possible duplicate) ';

/** Where at the target, as captured when the webhook was accepted (config-is-a-fact). */
export interface TargetAddress {
  readonly to: Readonly<Record<string, unknown>>;
  /** It came from a payload, a template or an API route: it must not lead into private networks. */
  readonly untrusted: boolean;
  /** Even its host did: it gets no credential of the config (`targets.http.headers`), which is for hosts that the operator wrote. */
  readonly untrustedHost: boolean;
}

/** The target's part of the config file: credentials and defaults. Never written to an event, a log line or a span. */
export type TargetSettings = Readonly<Record<string, unknown>>;

export interface SendRequest {
  readonly message: OutboundMessage;
  /** What `compose` gave for the message, and which of its pieces this is: 0 is the first. */
  readonly piece: Piece;
  readonly index: number;
  readonly count: number;
  /**
   * Say so in the message (DUPLICATE_MARK): it is resent and nothing at the platform prevents a second copy. Never
   * set for a target that is `idempotent`, nor after a look-up that found none.
   */
  readonly markDuplicate: boolean;
  readonly address: TargetAddress;
  readonly settings: TargetSettings;
  /** The same on every attempt at one piece, and of no other: `<session>.<version>`, from the second piece on `.<index>` more. */
  readonly idempotencyKey: string;
  /** When the message was recorded (ms): a look-up need not look at what is older. */
  readonly recordedAt: number;
  /** How long ago that was, by the same clock: not this host's. */
  readonly ageMs: number;
  /** When a request may be begun (asked right before it is written) and until when all of them together may last. */
  readonly window: SendWindow;
}

/** Of what a wait holds: of the chat (or channel, thread, inbox: `chat` of the place), or of all that goes to the target. */
export type WaitScope = 'chat' | 'target';

/** Reasons are read by operators and kept in events: they name no secret, and of a URL only its origin. */
export type SendResult =
  /** `receipt`: the adapter's own words for what was made there (`edit` gets it back); no secret. */
  | {
      readonly kind: 'taken';
      readonly receipt: string | null;
      /** The platform says that its bucket is empty for so long (Discord's headers): the chat's next send waits. */
      readonly pauseSeconds?: number;
    }
  /**
   * Surely not taken; a later attempt may succeed. With `retryAfterSeconds` the target said when: that spends no
   * attempt, and holds whatever else goes to the same `scope` (default: chat). Without it, it counts against the
   * schedule and the circuit. A refused credential is retryable: an operator can mend it.
   */
  | {
      readonly kind: 'retryable';
      readonly reason: string;
      readonly retryAfterSeconds?: number;
      readonly scope?: WaitScope;
    }
  /** The request went out and no (or no readable) answer came: it may have been taken. */
  | { readonly kind: 'unknown'; readonly reason: string }
  /** No attempt at this address will succeed: chat gone, forbidden, bad address. */
  | { readonly kind: 'permanent'; readonly reason: string };

export type EditResult =
  | SendResult
  /** It is not there any more, or may not be edited: the core sends a new message instead, in the same attempt. */
  | { readonly kind: 'gone'; readonly reason: string };

export type LookUpResult =
  | { readonly kind: 'found'; readonly receipt: string | null }
  /** Surely not there. */
  | { readonly kind: 'absent' }
  /** The platform cannot be asked now: the attempt fails, and is made again later. */
  | { readonly kind: 'retryable'; readonly reason: string; readonly retryAfterSeconds?: number }
  /** No asking will tell. */
  | { readonly kind: 'cannot-tell'; readonly reason: string };

/** So many in any stretch of so many seconds. */
export interface Rate {
  readonly sends: number;
  readonly seconds: number;
}

export interface TargetPlace {
  /**
   * The service that is talked to: sends with the same destination share the places, the circuit and the overall
   * rate, so that one that hangs or is down holds back no other. Name it after the target and the origin.
   */
  readonly destination: string;
  /** What the platform counts messages by; null: it does not. Unique within the destination. */
  readonly chat: string | null;
  /** What is down or up as one, where that is less than the destination: one hook of a host that has many. */
  readonly circuit?: string;
}

export interface Target {
  readonly name: string;
  /** The platform takes a second request with the same key for the first: an unknown outcome is resent silently. */
  readonly idempotent: boolean;
  /** The platform's own limits, kept across sessions. */
  readonly limits?: { readonly perChat?: Rate; readonly overall?: Rate };
  /** What the config's schema (service-kit, config/targets.ts) cannot know of the settings: asked at start, one line each. */
  checkSettings(settings: TargetSettings): readonly string[];
  place(address: TargetAddress, settings: TargetSettings): TargetPlace;
  /**
   * The message cut into 1..n pieces, each at most what the platform takes. Pure, and the same whenever it is asked:
   * a retry goes on after the last piece taken.
   */
  compose(message: SpokenMessage, settings: TargetSettings): readonly Piece[];
  /** One piece. A refusal of the markup is dealt with inside: the piece is sent again, plain, within the same window. */
  send(request: SendRequest): Promise<SendResult>;
  /** Puts the piece in the place of the message that `receipt` names. Left out: the platform cannot edit. */
  edit?(request: SendRequest, receipt: string): Promise<EditResult>;
  /** Is the piece there already? Asked before a resend whose forerunner's outcome is unknown. */
  lookUp?(request: SendRequest): Promise<LookUpResult>;
  close(): Promise<void>;
}
