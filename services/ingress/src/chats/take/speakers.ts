import { hash } from 'node:crypto';
import type { Chat } from '../chat.ts';
import type { Pairings } from '../pairing/pairings.ts';
import type { ChatClick, ChatMessage } from '../platform.ts';
import { commitAnswer } from './answer.ts';
import { ignored, STRANGER, type TakeContext, type Taken, type TakingMessage } from './take-context.ts';

export interface Speaker {
  /** Under which they were paired; null: the config lets them in. */
  readonly name: string | null;
}

/** Null: a stranger. */
export async function speakerOf(
  pairings: Pairings,
  { name: chatName, speakers }: Chat,
  { from, place }: ChatMessage | ChatClick,
): Promise<Speaker | null> {
  const chats = [place.chat, ...(place.parent === undefined ? [] : [place.parent])];
  const ids = [from.id, ...(from.listedAs ?? [])];
  const listed =
    speakers.anyone ||
    from.letIn === true ||
    ids.some((id) => speakers.users.has(id)) ||
    chats.some((chat) => speakers.chats.has(chat));
  // A paired person is recognised wherever they write.
  const names = await Promise.all(chats.map((chat) => pairings.nameOf(chatName, { user: from.id, chat })));
  const name = names.find((one) => one !== null) ?? null;
  return listed || name !== null ? { name } : null;
}

const A_DAY_SECONDS = 86_400;

/**
 * At most one reply per stranger and day, and only if they addressed the bot. The line has a key of its own, with that
 * lifetime, instead of the update's: a hundred messages of a stranger are one session.
 */
export async function tellStranger(context: TakeContext, taking: TakingMessage): Promise<Taken> {
  const { chat, update } = taking;
  if (chat.strangerReply === null || !(update.direct || update.mentioned)) return ignored(STRANGER);
  const stranger = hash('sha256', JSON.stringify([chat.name, update.place.chat, update.from.id]));
  if (context.told.has(stranger)) return ignored(STRANGER);
  const key = { key: `chat-stranger:${chat.platform.name}:${stranger}`, keepSeconds: A_DAY_SECONDS };
  const told = await commitAnswer(
    context,
    { ...taking, options: { ...taking.options, key } },
    { text: chat.strangerReply, title: 'A stranger', event: 'stranger' },
  );
  context.told.add(stranger);
  return told.outcome === 'known' ? ignored(STRANGER) : { ...told, outcome: 'refused' };
}
