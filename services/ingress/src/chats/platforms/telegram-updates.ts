import { z } from 'zod';
import type { ChatFile, ChatUpdate, PlatformSettings } from '../platform.ts';
import { botId } from './telegram-api.ts';

/**
 * Updates of the Bot API (https://core.telegram.org/bots/api#update) as chats know them. Only the fields that count are
 * read; what does not fit is `other`.
 */

/** What to ask for: nothing else is sent. */
export const ALLOWED_UPDATES = ['message', 'callback_query'] as const;

const person = z.object({
  id: z.number().int(),
  is_bot: z.boolean(),
  first_name: z.string().default(''),
  last_name: z.string().optional(),
  username: z.string().optional(),
});
const chat = z.object({ id: z.number().int(), type: z.string() });
const entity = z.object({
  type: z.string(),
  offset: z.number().int(),
  length: z.number().int(),
  user: z.object({ id: z.number() }).optional(),
});
const file = z.object({
  file_id: z.string(),
  file_name: z.string().optional(),
  mime_type: z.string().optional(),
  file_size: z.number().optional(),
});
const message = z.object({
  message_id: z.number().int(),
  date: z.number(),
  chat,
  from: person.optional(),
  /** Set if a channel or a group speaks instead of a person. */
  sender_chat: chat.optional(),
  message_thread_id: z.number().int().optional(),
  is_topic_message: z.boolean().optional(),
  forward_origin: z.unknown().optional(),
  via_bot: z.unknown().optional(),
  reply_to_message: z
    .object({ message_id: z.number().int(), from: z.object({ id: z.number() }).optional() })
    .optional(),
  text: z.string().optional(),
  caption: z.string().optional(),
  entities: z.array(entity).optional(),
  caption_entities: z.array(entity).optional(),
  photo: z.array(file).optional(),
  document: file.optional(),
});
const callback = z.object({
  id: z.string(),
  from: person,
  data: z.string().optional(),
  message: z
    .object({
      message_id: z.number().int(),
      chat,
      message_thread_id: z.number().int().optional(),
      is_topic_message: z.boolean().optional(),
    })
    .optional(),
});
const updateSchema = z.object({
  update_id: z.number().int(),
  message: message.optional(),
  callback_query: callback.optional(),
});

type Message = z.infer<typeof message>;

/**
 * Telegram keeps updates for 24 hours, and a taken update is known for 7 days at least. An older update was sent by somebody
 * who had kept it.
 */
const OLDEST_MS = 48 * 3_600_000;

export function readUpdate(raw: unknown, settings: PlatformSettings, nowMs: number): ChatUpdate {
  const parsed = updateSchema.safeParse(raw);
  if (!parsed.success) return { kind: 'other', updateId: 'unreadable', why: 'not an update that we know' };
  const { update_id: id, message: said, callback_query: click } = parsed.data;
  const updateId = `${botId(settings)}:${id}`;
  const other = (why: string): ChatUpdate => ({ kind: 'other', updateId, why });
  if (click !== undefined) {
    if (click.message === undefined || click.data === undefined) return other('a click without a message');
    return {
      kind: 'click',
      updateId,
      place: placeOf(click.message),
      from: personOf(click.from),
      message: String(click.message.message_id),
      data: click.data,
      acknowledgement: { callback_query_id: click.id },
    };
  }
  if (said === undefined) return other('no message');
  if (said.from === undefined || said.sender_chat !== undefined) return other('not sent by a person');
  if (said.via_bot !== undefined) return other('written by a bot');
  if (said.date * 1000 < nowMs - OLDEST_MS) return other('too old');
  const files = filesOf(said);
  const whole = said.text ?? said.caption ?? '';
  if (whole.trim() === '' && files.length === 0) return other('nothing to read');
  const forwarded = said.forward_origin !== undefined;
  const addressed = addressedIn(said, whole, settings);
  if (addressed.otherBot) return other('a command to another bot');
  const place = placeOf(said);
  const replyTo = replyOf(said);
  return {
    kind: 'message',
    updateId,
    place,
    from: personOf(said.from),
    message: String(said.message_id),
    replyTo,
    text: addressed.text,
    direct: said.chat.type === 'private',
    mentioned:
      addressed.mentioned ||
      // Also if the session was pruned since, or its receipt is not recorded yet.
      (replyTo !== null && String(said.reply_to_message?.from?.id) === botId(settings)) ||
      (!forwarded && addressed.command !== null && addressed.commandToUs),
    command: forwarded ? null : addressed.command,
    forwarded,
    files,
    answerTo: {
      chat_id: place.chat,
      ...(place.thread === null ? {} : { message_thread_id: Number(place.thread) }),
    },
  };
}

function placeOf(said: Pick<Message, 'chat' | 'message_thread_id' | 'is_topic_message'>) {
  // In groups without topics a chain of replies has a thread id too, but no place of its own.
  const isTopic = said.is_topic_message === true && said.message_thread_id !== undefined;
  return {
    platform: 'telegram' as const,
    chat: String(said.chat.id),
    thread: isTopic ? String(said.message_thread_id) : null,
  };
}

/** Each message in a topic "replies" to the one that opened the topic. */
function replyOf({
  reply_to_message: to,
  is_topic_message: inTopic,
  message_thread_id: thread,
}: Message): string | null {
  if (to === undefined || (inTopic === true && to.message_id === thread)) return null;
  return String(to.message_id);
}

function personOf({ id, is_bot, first_name, last_name, username }: z.infer<typeof person>) {
  const name = [first_name, last_name].filter(Boolean).join(' ') || username || String(id);
  return { id: String(id), name, bot: is_bot };
}

interface Addressed {
  /** Without the mention of us. */
  readonly text: string;
  readonly mentioned: boolean;
  readonly command: { readonly name: string; readonly rest: string } | null;
  /** `/status@our_bot`; without a name it may be for any bot of the group. */
  readonly commandToUs: boolean;
  readonly otherBot: boolean;
}

const COMMAND = /^\/([A-Za-z0-9_]{1,32})(?:@([A-Za-z0-9_]+))?(?:\s+|$)/;

function addressedIn(said: Message, whole: string, settings: PlatformSettings): Addressed {
  const botName = typeof settings.chat.bot_name === 'string' ? settings.chat.bot_name.toLowerCase() : null;
  const id = botId(settings);
  const entities = said.entities ?? said.caption_entities ?? [];
  const mention = entities.find(({ type, offset, length, user }) => {
    if (type === 'text_mention') return String(user?.id) === id;
    if (type !== 'mention' || botName === null) return false;
    return whole.slice(offset + 1, offset + length).toLowerCase() === botName;
  });
  const text =
    mention === undefined
      ? whole
      : whole.slice(0, mention.offset) + whole.slice(mention.offset + mention.length);
  const [matched, name, to] = COMMAND.exec(text.trimStart()) ?? [];
  const toUs = to !== undefined && to.toLowerCase() === botName;
  return {
    text: text.trim(),
    mentioned: mention !== undefined,
    command:
      name === undefined
        ? null
        : { name: name.toLowerCase(), rest: text.trimStart().slice(matched?.length).trim() },
    commandToUs: toUs,
    otherBot: to !== undefined && botName !== null && !toUs,
  };
}

function filesOf({ photo, document }: Message): ChatFile[] {
  // The same picture in several sizes, the largest one last.
  const picture = photo?.at(-1);
  const found = [
    ...(picture === undefined ? [] : [{ file_name: 'photo.jpg', mime_type: 'image/jpeg', ...picture }]),
    ...(document === undefined ? [] : [document]),
  ];
  return found.map(({ file_id, file_name, mime_type, file_size }) => ({
    id: file_id,
    name: file_name ?? 'file',
    mimeType: mime_type ?? null,
    bytes: file_size ?? null,
  }));
}
