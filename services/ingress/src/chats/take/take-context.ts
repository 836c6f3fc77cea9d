import type { Bus } from '@angelia/bus';
import type { EventLog, StreamAppend } from '@angelia/event-log';
import type { Logger } from '@angelia/service-kit';
import type { ExecuteOptions, KeyedSessions, Sessions } from '@angelia/sessions';
import type { Chat } from '../chat.ts';
import type { Pairings } from '../pairing/pairings.ts';
import type { ChatClick, ChatMessage, ChatUpdate } from '../platform.ts';
import type { BroughtFiles } from './files/bring-files.ts';
import type { ToldStrangers } from './told-strangers.ts';

/** What taking an update needs besides the update. Made once. */
export interface TakeContext {
  readonly sessions: Sessions;
  readonly keyed: KeyedSessions;
  readonly log: Pick<EventLog, 'streams' | 'lists'>;
  readonly bus: Pick<Bus, 'ping'>;
  readonly pairings: Pairings;
  readonly told: ToldStrangers;
  readonly logger: Pick<Logger, 'warn'>;
}

/** What became of an update. `ignored` and `known` appended nothing. */
export interface Taken {
  readonly outcome: 'turn' | 'answer' | 'decision' | 'command' | 'refused' | 'known' | 'ignored';
  /** For the log, for people who look for the reason why nothing happened. */
  readonly why?: string;
  /** What the one who clicked is told. */
  readonly told?: string;
  readonly sessionId?: string;
}

/** An update of a person who may speak, or who is told that they may not. */
export interface Taking<Update extends ChatUpdate = ChatMessage> {
  readonly chat: Chat;
  readonly update: Update;
  /** The actor of the events (invariant every-act-has-an-actor). */
  readonly actor: string;
  /** For every append that this update leads to: all of them have its key, so one of them succeeds, once. */
  readonly options: Required<Pick<ExecuteOptions, 'key' | 'actor' | 'traceparent'>> &
    Pick<ExecuteOptions, 'fence' | 'beside'>;
  /** Of a message, once they are brought. */
  readonly files?: BroughtFiles;
}

export type TakingMessage = Taking<ChatMessage>;
export type TakingClick = Taking<ChatClick>;

/** The offset of a led connection, appended with the last update of its batch. */
export type Fence = StreamAppend;

/** Why nothing happened, for metrics: somebody who may not speak. */
export const STRANGER = 'a stranger';

export function ignored(why: string): Taken {
  return { outcome: 'ignored', why };
}
