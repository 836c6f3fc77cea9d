import { keyStream } from '@angelia/sessions';
import type { Chat } from '../chat.ts';
import type { ChatMessage } from '../platform.ts';

/** The `session_key` of the conversation that a message belongs to if it replies to nothing. */
export function conversationName({ sessionPer }: Chat, { place }: Pick<ChatMessage, 'place'>): string {
  const { chat, thread, parent } = place;
  return JSON.stringify(sessionPer === 'thread' ? [chat, thread] : [parent ?? chat, null]);
}

/** Its stream, as KeyedSessions names it. */
export function conversationKey(chat: Chat, message: Pick<ChatMessage, 'place'>): string {
  return keyStream('session', chat.route, conversationName(chat, message));
}
