import type { ChatPlatformName, MessagePlace } from '@angelia/chats';
import type { Handshake, SignedRequest } from '../webhooks/authenticate/scheme.ts';

/**
 * The port that every chat platform implements: one file each in platforms/, listed in platform-registry.ts. It translates
 * the platform's updates and knows nothing of sessions. What an update does is decided by ./take. Messages are sent by
 * delivery only (written-before-sent); a platform here answers its own HTTP request, acknowledges clicks, fetches files.
 */
export interface ChatPlatform {
  readonly name: ChatPlatformName;
  /**
   * The chat (`MessagePlace.chat`) that an address of delivery leads to; null: none that people write in. Tells which sessions
   * a chat may see and stop.
   */
  chatOf(to: Readonly<Record<string, unknown>>): string | null;
  /** The part of an address of delivery that names the chat: what `chatOf` reads, as it is recorded. */
  addressOf(chat: string): Readonly<Record<string, unknown>>;
  /** The same, if an address can name the chat in two ways. */
  otherAddressOf?(chat: string): Readonly<Record<string, unknown>>;
  /**
   * Threads are rooms of their own (topics): a message in one is not a reply. Left out: a thread hangs below a message, and
   * messages in a thread of ours are addressed to us.
   */
  readonly threadsAreRooms?: true;
  /** Anybody may write in its chats (a public repository), so pairing never lets in a whole chat. */
  readonly openToAll?: true;
  /** Left out: the platform has no webhook. */
  readonly webhook?: ChatWebhook;
  /** Left out: the platform offers no connection that we could open. */
  readonly connection?: ChatConnection;
  /** Tells the person who clicked the result, if the platform shows that to them alone. Best effort: the log has the fact. */
  acknowledge?(click: ChatClick, text: string, context: PlatformCall): Promise<void>;
  /** Fetches a file of a message. Refuses a file that is longer than `mostBytes`, without reading the rest. */
  fetchFile?(file: ChatFile, mostBytes: number, context: PlatformCall): Promise<Uint8Array>;
  /**
   * Registers commands and the webhook at the platform, or says what to do there by hand (`angelia chat setup`). May be
   * called again. Left out: there is nothing to set up.
   * @throws Error with the platform's words, without a secret
   */
  setup?(wanted: SetupWanted, context: PlatformCall): Promise<ChatSetup>;
}

export interface SetupWanted {
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  /** Where the platform reaches this chat; null: `public_url` is not set, or everything comes by the connection. */
  readonly webhookUrl: string | null;
}

export interface ChatSetup {
  /** What was done, a sentence each. */
  readonly done: readonly string[];
  /** What a person has to do at the platform, a sentence each. */
  readonly todo: readonly string[];
  /** Ready to paste there, such as the manifest of a Slack app. */
  readonly paste?: { readonly what: string; readonly text: string };
}

/** The settings of the chat (`chats.<name>`) and of its target (`targets.<platform>`), as the platform's schema left them. */
export interface PlatformSettings {
  readonly chat: Readonly<Record<string, unknown>>;
  readonly target: Readonly<Record<string, unknown>>;
}

export interface PlatformCall {
  readonly settings: PlatformSettings;
  readonly signal: AbortSignal;
}

export interface ChatWebhook {
  /** Clicks and commands come here also if messages come by the connection. */
  readonly besideConnection?: true;
  /** By the platform's own scheme, on the bytes as received, before anything is parsed (strangers-cost-little). */
  verify(request: SignedRequest, settings: PlatformSettings): boolean;
  /** Parses the body. Left out: it is JSON, or a form that is URL-encoded. @throws Refusal 400, 415 */
  parse?(request: SignedRequest): unknown;
  /** Pure. `body` is parsed JSON, or the fields of a form. Never throws: unknown input becomes `other`. */
  read(body: unknown, request: SignedRequest, settings: PlatformSettings): readonly ChatUpdate[];
  /**
   * Asks the platform for facts that the request does not contain, such as whether a bot wrote it. Left out: the request
   * contains everything.
   * @throws Error if the platform cannot be asked now
   */
  look?(message: ChatMessage, context: PlatformCall): Promise<ChatUpdate>;
  /** The answer to a check by the platform (PING, url_verification); null: the request is not such a check. */
  handshake?(body: unknown): Handshake | null;
  /**
   * The HTTP answer that the platform expects once its updates are durable. Left out: 200 `{}`. `told` is what the one who
   * clicked is told, null for other updates: for a platform that shows it from the answer, and so has no `acknowledge`.
   */
  answer?(
    updates: readonly ChatUpdate[],
    body: unknown,
    told?: readonly (string | null)[],
  ): { readonly status: number; readonly body?: unknown };
}

/** One replica leads it at a time. `run` ends when the signal aborts, and throws when the connection broke: it is run again. */
export interface ChatConnection {
  /**
   * Whose updates they are, such as the bot's id: offsets of another account mean nothing. Not a secret.
   */
  account(settings: PlatformSettings): string;
  run(context: ConnectionContext): Promise<void>;
}

export interface ConnectionContext extends PlatformCall {
  /** The offset of the last batch that is durable; null: none yet. */
  readonly offset: string | null;
  /**
   * Makes the updates and the new offset durable. Without any updates, the offset alone. Confirm to the platform only afterwards.
   * @throws LogUnavailable: not everything was taken: let `run` throw, and it is run again from the last offset; Superseded:
   *   another process leads
   */
  take(updates: readonly ChatUpdate[], offset?: string): Promise<void>;
  /** Reports something that the operator should know and that stops nothing. The caller reports it once. */
  tell(what: string): void;
  /** Shown by /v1/chats and doctor. */
  connected(): void;
}

export type ChatUpdate = ChatMessage | ChatClick | OtherUpdate;

interface Update {
  /** The idempotency key, unique within the platform: the account and the platform's id of the update. A repeat has the same. */
  readonly updateId: string;
}

export interface ChatMessage extends Update {
  readonly kind: 'message';
  readonly place: MessagePlace;
  readonly from: Person;
  /** The platform's id of this message, spelled as in receipts of delivery. */
  readonly message: string;
  /** The message that it replies to, if it is a reply. */
  readonly replyTo: string | null;
  readonly text: string;
  /** A conversation of two: nobody has to be mentioned. */
  readonly direct: boolean;
  /** Our bot is mentioned, or the message is a command to it. The mention itself is no longer in `text`. */
  readonly mentioned: boolean;
  /** `/name rest`, if the platform or the text says so, and it is not for another bot. */
  readonly command: { readonly name: string; readonly rest: string } | null;
  /** Somebody else's words that were forwarded: never a command. */
  readonly forwarded: boolean;
  readonly files: readonly ChatFile[];
  /**
   * The proof of this message does not cover its text, so it is valid for one message only. A repeat of this message has the
   * same proof. Another message with it was forged by somebody who has seen the proof.
   */
  readonly oneUse?: string;
  /** The address under which delivery answers this message (`deliver_extra` of the target). */
  readonly answerTo: Readonly<Record<string, unknown>>;
}

export interface ChatClick extends Update {
  readonly kind: 'click';
  readonly place: MessagePlace;
  readonly from: Person;
  /** The message that has the button. */
  readonly message: string;
  /** As buttonData of libs/chats wrote it. */
  readonly data: string;
  /** What the platform wants back with the acknowledgement. Not kept. */
  readonly acknowledgement: Readonly<Record<string, unknown>>;
}

/** Starts nothing: an edit, a deletion, a reaction, a message of a bot or of ours, or an unknown kind of update. */
export interface OtherUpdate extends Update {
  readonly kind: 'other';
  readonly why: string;
}

export interface Person {
  /** The platform's id of the user, never a name that they chose. */
  readonly id: string;
  /** For people to read. Untrusted. */
  readonly name: string;
  readonly bot: boolean;
  /** Other names of the platform, unique at a time, under which `speakers.users` may list them: a login. */
  readonly listedAs?: readonly string[];
  /** The chat's own rule for this platform lets them in, besides `speakers`. */
  readonly letIn?: boolean;
}

export interface ChatFile {
  /** The platform's handle, for fetchFile. */
  readonly id: string;
  readonly name: string;
  readonly mimeType: string | null;
  readonly bytes: number | null;
  /** It came with the message: there is nothing to fetch. */
  readonly content?: Uint8Array;
}
