import { hash } from 'node:crypto';
import type { MessagePlace } from './place.ts';

/**
 * A delivered message belongs to a session. delivery appends the session to these small streams in the same append as the
 * receipt, and ingress finds the session of a reply by them. They are streams of keys (`key.session-opened`), so pruning
 * removes them with their session.
 */

/** The stream of one message. */
export function messageKey(place: MessagePlace, message: string): string {
  return stream('message', place.platform, scopeOf(place, message), message);
}

/** The stream of a thread. Its last event names the session that wrote there last. */
export function threadKey(place: MessagePlace, thread: string): string {
  return stream('thread', place.platform, scopeOf(place, thread), thread);
}

/**
 * The streams that a delivered message is recorded in. A message of a session without an agent (`deliver_only`) does not take
 * over its thread: the next message in the thread is for the session that wrote there before.
 */
export function receiptKeys(
  place: MessagePlace & { readonly message: string },
  { deliverOnly }: { readonly deliverOnly: boolean },
): readonly string[] {
  const ofMessage = messageKey(place, place.message);
  return place.thread === null || deliverOnly ? [ofMessage] : [ofMessage, threadKey(place, place.thread)];
}

/** A Message-ID of ours, as delivery makes them. */
const OUR_MAIL = /^<angelia\.[0-9a-f]{32}@/;

/**
 * The scope within which the platform's message ids are unique. Our own Message-IDs are unique everywhere and cannot be
 * guessed, and any recipient of a mail may reply to it. If a thread began with somebody else's mail, their program chose the
 * id, so the id counts only for that person.
 */
function scopeOf({ platform, chat }: MessagePlace, id: string): string {
  return platform === 'email' && OUR_MAIL.test(id) ? '' : chat;
}

/** JSON keeps the parts apart: `a`, `bc` and `ab`, `c` differ. */
function stream(...parts: readonly string[]): string {
  return `key-${hash('sha256', JSON.stringify(['chat', ...parts]))}`;
}
