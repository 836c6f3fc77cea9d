import { isSessionId, type SessionId } from '@angelia/contracts';
import type { ListedSession } from '@angelia/event-log';
import type { SessionState } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import { conversationKey } from '../conversation-key.ts';
import { addressedSession, sessionUnder } from '../replies.ts';
import type { TakeContext, TakingMessage } from '../take-context.ts';

export type Found =
  | { readonly session: Loaded }
  /** Why there is none, for the person who asked. */
  | { readonly none: string };

/**
 * The session that a command is about: the one with the id, the one that the message replies to, the current one of the
 * thread or conversation, or the last one that this chat got anything from. A chat sees no session of another chat.
 */
export async function sessionFor(context: TakeContext, taking: TakingMessage, id: string): Promise<Found> {
  if (id !== '') return byId(context, taking, id);
  const { chat, update } = taking;
  const addressed = await addressedSession(context, chat, update);
  if (addressed !== null) return { session: addressed };
  const current = await sessionUnder(context, conversationKey(chat, update));
  const session = current === null ? null : await context.sessions.load(current);
  if (session !== null && session.state.created !== null && !session.state.created.deliverOnly) {
    return { session };
  }
  if (session?.state.created?.deliverOnly) {
    return { none: 'This is a new conversation. Write something, or /resume with the id of a session.' };
  }
  const [last] = await sessionsHere(context, taking, 1);
  return last === undefined
    ? { none: 'There is no session in this chat yet.' }
    : { session: await context.sessions.load(last.sessionId as SessionId) };
}

async function byId({ sessions }: TakeContext, taking: TakingMessage, id: string): Promise<Found> {
  const none = { none: 'There is no session with this id in this chat. /sessions lists them.' };
  if (!isSessionId(id)) return { none: 'Give the whole id of a session. /sessions lists them.' };
  const session = await sessions.load(id);
  return isHere(taking, session.state) && !session.state.created?.deliverOnly ? { session } : none;
}

export function isHere({ chat, update }: TakingMessage, { created }: SessionState): boolean {
  const { platform } = chat;
  if (created === null || created.deliver.target !== platform.name) return false;
  return platform.chatOf(created.deliver.to) === update.place.chat;
}

/** The newest sessions that are delivered to this chat, from the views. */
export async function sessionsHere(
  { log }: TakeContext,
  { chat, update }: TakingMessage,
  limit: number,
  waitingFor?: string,
): Promise<readonly ListedSession[]> {
  const { platform } = chat;
  const { chat: here } = update.place;
  const addresses = [platform.addressOf(here), platform.otherAddressOf?.(here) ?? []].flat();
  const pages = await Promise.all(
    addresses.map((to) => {
      const deliver = { target: platform.name, to };
      return log.lists.sessions({ created: { deliver, deliverOnly: false }, waitingFor, limit });
    }),
  );
  const found = pages.flatMap(({ items }) => items);
  return found.toSorted((a, b) => b.createdAt - a.createdAt).slice(0, limit);
}
