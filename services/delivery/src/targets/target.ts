import type { SendWindow } from '../send-window.ts';

/**
 * The port behind which every platform lives: one file per target in this folder, listed in registry.ts.
 * To add one: implement `Target`, add a line to the registry and its schema to service-kit's config/targets.ts.
 */

/** What is said, taken from the recorded output and `session.created` and nowhere else (written-before-sent). */
export interface OutboundMessage {
  readonly type: 'interim-status' | 'clarification' | 'final-response';
  readonly sessionId: string;
  readonly version: number;
  readonly route: string;
  readonly deliveryId: string;
  readonly text: string;
  /** An earlier attempt may have reached the target: we do not know. */
  readonly possibleDuplicate: boolean;
}

/** Where at the target, as captured when the webhook was accepted (config-is-a-fact). */
export interface TargetAddress {
  readonly to: Readonly<Record<string, unknown>>;
  /** It came from a payload, a template or an API route: it must not lead into private networks. */
  readonly untrusted: boolean;
}

/** The target's part of the config file: credentials and defaults. Never written to an event, a log line or a span. */
export type TargetSettings = Readonly<Record<string, unknown>>;

export interface SendRequest {
  readonly message: OutboundMessage;
  readonly address: TargetAddress;
  readonly settings: TargetSettings;
  /** The same on every attempt at one output. */
  readonly idempotencyKey: string;
  /** When the request may be begun and until when it may last. */
  readonly window: SendWindow;
}

/** Reasons are read by operators and kept in events: they name no secret, and of a URL only its origin. */
export type SendResult =
  | { readonly kind: 'taken'; readonly receipt: string | null }
  /** Surely not taken; a later attempt may succeed. With `retryAfterSeconds` the target said when. */
  | { readonly kind: 'retryable'; readonly reason: string; readonly retryAfterSeconds?: number }
  /** The request went out and no answer came: it may have been taken. */
  | { readonly kind: 'unknown'; readonly reason: string }
  /** No attempt at this address will succeed. */
  | { readonly kind: 'permanent'; readonly reason: string };

export interface Target {
  readonly name: string;
  /** What the config's schema (service-kit, config/targets.ts) cannot know of the settings: asked at start, one line each. */
  checkSettings(settings: TargetSettings): readonly string[];
  /** Sends with the same destination share a cap, so that one that hangs holds back no other. */
  destination(address: TargetAddress): string;
  send(request: SendRequest): Promise<SendResult>;
  close(): Promise<void>;
}
