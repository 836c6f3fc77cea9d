import { chatPlatformsOf } from '@angelia/config';
import { type Config, typingSubject } from '@angelia/contracts';
import type { Loaded } from '@angelia/sessions';

/** The part of core NATS that is needed here. */
export interface TypingPings {
  ping(subject: string): void;
}

/**
 * Tells delivery that a run has started whose answer goes to a chat, so that people see there that the agent is at work.
 * Without `chats` in the config nothing is sent.
 */
export function showTyping({ id, state }: Loaded, config: Pick<Config, 'chats'>, pings: TypingPings): void {
  const { deliver } = state.created ?? {};
  if (deliver !== undefined && chatPlatformsOf(config).has(deliver.target)) pings.ping(typingSubject(id));
}
