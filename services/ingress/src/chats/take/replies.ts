import { type MessagePlace, messageKey, threadKey } from '@angelia/chats';
import { cancelSubject, type KeyEventData, type SessionId, sessionId } from '@angelia/contracts';
import type { CreateSession } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import type { Chat } from '../chat.ts';
import type { ChatMessage } from '../platform.ts';
import { conversationKey } from './conversation-key.ts';
import { decideMessage, isRefusedAsBusy, tellBusy } from './converse.ts';
import { broughtBy, inputOf } from './input.ts';
import type { TakeContext, Taken, TakingMessage } from './take-context.ts';

/**
 * A reply finds its session by the receipts of delivery: the message that it replies to, or the thread in which it stands,
 * was recorded with its session when it was delivered (libs/chats, receipt-keys.ts). Nothing is configured twice.
 */

type Readable = Pick<TakeContext, 'log' | 'sessions'>;

/** Whether a message is meant for us. In a conversation of two every message is. */
export async function isAddressed(context: Readable, chat: Chat, message: ChatMessage): Promise<boolean> {
  if (message.direct || message.mentioned || !chat.mention) return true;
  if (message.replyTo !== null && (await sessionOfMessage(context, message)) !== null) return true;
  if (chat.platform.threadsAreRooms || message.place.thread === null) return false;
  if ((await sessionOfThread(context, message.place)) !== null) return true;
  // A conversation that was begun here by a mention: its answer may be in the thread before its receipt is recorded.
  return (
    chat.sessionPer === 'thread' && (await sessionUnder(context, conversationKey(chat, message))) !== null
  );
}

/** The session that a message replies to, by message or by thread; null: none, or it was pruned. */
export async function addressedSession(
  context: Readable,
  chat: Chat,
  message: ChatMessage,
): Promise<Loaded | null> {
  const id =
    (message.replyTo === null ? null : await sessionOfMessage(context, message)) ??
    (await sessionOfThread(context, message.place));
  return id === null ? null : agentSession(context, chat, message.place, id);
}

/** Without an agent (`deliver_only`) nobody reads a reply: it goes to the session that the message is about, if there is one. */
async function agentSession(
  { sessions }: Readable,
  { platform }: Chat,
  place: MessagePlace,
  id: SessionId,
): Promise<Loaded | null> {
  const loaded = await sessions.load(id);
  const { created } = loaded.state;
  if (created === null) return null;
  if (!created.deliverOnly) return loaded;
  if (created.about === undefined) return null;
  const about = await sessions.load(sessionId(created.about));
  const to = about.state.created?.deliver;
  const isHere = to?.target === platform.name && platform.chatOf(to.to) === place.chat;
  return isHere && !about.state.created?.deliverOnly ? about : null;
}

async function sessionOfMessage(
  context: Readable,
  { place, replyTo }: ChatMessage,
): Promise<SessionId | null> {
  return replyTo === null ? null : sessionUnder(context, messageKey(place, replyTo));
}

/** By what was delivered there, or by the message below which the thread was opened: the thread has its id. */
async function sessionOfThread(context: Readable, place: MessagePlace): Promise<SessionId | null> {
  const { thread, parent } = place;
  if (thread === null) return null;
  const delivered = await sessionUnder(context, threadKey(place, thread));
  if (delivered !== null || parent === undefined) return delivered;
  return sessionUnder(context, messageKey({ ...place, chat: parent }, thread));
}

/** The session that a stream of a key names. */
export async function sessionUnder(context: Pick<Readable, 'log'>, key: string): Promise<SessionId | null> {
  const named = await namedUnder(context, key);
  return named === null ? null : sessionId(named.session_id);
}

/** The request for approval that the message is which somebody replies to, by its version; null: it is none. */
export async function requestRepliedTo(
  context: Readable,
  { place, replyTo }: ChatMessage,
): Promise<number | null> {
  if (replyTo === null) return null;
  return (await namedUnder(context, messageKey(place, replyTo)))?.request ?? null;
}

async function namedUnder(
  { log }: Pick<Readable, 'log'>,
  key: string,
): Promise<KeyEventData<'key.session-opened'> | null> {
  const head = await log.streams.readHead(key);
  return head?.type === 'key.session-opened' ? (head.data as KeyEventData<'key.session-opened'>) : null;
}

/** Null: the session was pruned meanwhile, and the message is the beginning of a conversation. */
export async function speakTo(
  context: TakeContext,
  taking: TakingMessage,
  session: Loaded,
): Promise<Taken | null> {
  const { options } = taking;
  if (isRefusedAsBusy(taking, session.state)) return tellBusy(context, taking, session.id);
  const executed = await context.sessions.execute(session.id, (current) => decideMessage(current, taking), {
    ...options,
    loaded: session,
  });
  if (executed.status === 'duplicate') return { outcome: 'known' };
  if (executed.status === 'appended') {
    const types = new Set(executed.appended.map(({ type }) => type));
    if (types.has('run.cancelled')) context.bus.ping(cancelSubject(session.id));
    return { outcome: types.has('clarification.answered') ? 'answer' : 'turn', sessionId: session.id };
  }
  if (executed.status !== 'refused') throw new Error(`a reply was answered with ${executed.status}`);
  if (executed.code === 'unknown_session') return null;
  const { sessionId: next, status } = await context.keyed.continueSession(
    executed.loaded,
    {
      source: 'message',
      input: inputOf(taking),
      deliveryId: options.key.key,
      ...broughtBy(taking),
      ...threadOf(taking, executed.loaded),
    },
    options,
    (state) => decideMessage({ state, events: [] }, taking),
  );
  return status === 'duplicate' ? { outcome: 'known' } : { outcome: 'turn', sessionId: next };
}

/**
 * Who replies in the thread below a message wants the answer there, and not beside the message. The session that wrote it
 * keeps its address; its continuation has the thread's.
 */
function threadOf(
  { chat, update }: TakingMessage,
  { state }: Loaded,
): { readonly deliver?: CreateSession['deliver'] } {
  const deliver = state.created?.deliver;
  const { platform } = chat;
  const { thread, chat: room } = update.place;
  if (deliver == null || platform.threadsAreRooms || thread === null || deliver.target !== platform.name)
    return {};
  // An address may have the name of the chat (`#general`), which leads there, too: the reply was found by its receipt.
  const to = platform.chatOf(deliver.to);
  return to === null || to === room ? { deliver: { ...deliver, to: { ...update.answerTo } } } : {};
}
