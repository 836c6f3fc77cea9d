import { z } from 'zod';
import type { ChatFile, ChatUpdate, Person } from '../../platform.ts';
import { readCommand } from '../read-command.ts';

/** Messages (https://docs.discord.com/developers/resources/message) as chats know them. */

/** Of a channel: answers go to an address that has it, so `..` would lead elsewhere in the API's path. */
export const snowflake = z.string().regex(/^\d{1,20}$/);
export const user = z.object({
  id: z.string(),
  username: z.string().default(''),
  global_name: z.string().nullish(),
  bot: z.boolean().optional(),
});
export const member = z.object({ nick: z.string().nullish() });
const attachment = z.object({
  filename: z.string().default('file'),
  content_type: z.string().nullish(),
  size: z.number().nullish(),
  url: z.string(),
});
const content = z.object({
  content: z.string().default(''),
  attachments: z.array(attachment).default([]),
});
const messageSchema = content.extend({
  id: z.string(),
  channel_id: snowflake,
  guild_id: z.string().optional(),
  type: z.number().int(),
  author: user,
  member: member.optional(),
  webhook_id: z.string().optional(),
  mentions: z.array(user).default([]),
  message_reference: z
    .object({
      type: z.number().int().default(0),
      message_id: z.string().optional(),
      channel_id: z.string().optional(),
    })
    .nullish(),
  message_snapshots: z.array(z.object({ message: content })).optional(),
});

/** Of message types, these are written by people: DEFAULT and REPLY. Others say that somebody joined, pinned, boosted. */
const DEFAULT = 0;
const REPLY = 19;
/** Of a message_reference. */
const FORWARD = 1;

/** What a message itself does not say. */
export interface MessageSurroundings {
  readonly botId: string;
  /** A conversation of two. Messages that were asked for by REST do not name their server. */
  readonly direct: boolean;
  /** The channel around the thread in which it stands; null: it stands in no thread. */
  readonly parent: string | null;
}

/** Never throws: what it does not know is `other`. */
export function readMessage(raw: unknown, { botId, direct, parent }: MessageSurroundings): ChatUpdate {
  const parsed = messageSchema.safeParse(raw);
  if (!parsed.success) return { kind: 'other', updateId: 'unreadable', why: 'not a message that we know' };
  const said = parsed.data;
  const updateId = `${botId}:${said.id}`;
  const other = (why: string): ChatUpdate => ({ kind: 'other', updateId, why });
  if (said.author.bot === true || said.webhook_id !== undefined || said.author.id === botId) {
    return other('written by a bot');
  }
  if (said.type !== DEFAULT && said.type !== REPLY) return other('not written by a person');
  const forwarded = said.message_reference?.type === FORWARD;
  const snapshot = forwarded ? said.message_snapshots?.[0]?.message : undefined;
  const { content: written, attachments } = snapshot ?? said;
  const files = attachments.map(fileOf);
  const { text, mentioned } = withoutMention(written, said.mentions, botId);
  if (text === '' && files.length === 0 && !mentioned) return other('nothing to read');
  const { channel_id: channel } = said;
  return {
    kind: 'message',
    updateId,
    place: discordPlace(channel, parent),
    from: personOf(said.author, said.member?.nick),
    message: said.id,
    replyTo: said.type === REPLY ? (said.message_reference?.message_id ?? null) : null,
    text,
    direct,
    // Discord lists who is replied to among the mentions, and our own name in forwarded words is not for us.
    mentioned: !forwarded && (mentioned || said.mentions.some(({ id }) => id === botId)),
    command: forwarded ? null : readCommand(text),
    forwarded,
    files,
    answerTo: addressIn(channel, parent),
  };
}

/** A thread is a channel: messages stand in it, and not in the channel around it. */
export function discordPlace(channel: string, parent: string | null) {
  return {
    platform: 'discord' as const,
    chat: channel,
    thread: parent === null ? null : channel,
    ...(parent === null ? {} : { parent }),
  };
}

export function addressIn(channel: string, parent: string | null): Readonly<Record<string, unknown>> {
  // Both, so that a thread is found like a channel, and delivery knows that it is a thread.
  return parent === null ? { channel_id: channel } : { channel_id: channel, thread_id: channel };
}

export function personOf(
  { id, username, global_name, bot }: z.infer<typeof user>,
  nick?: string | null,
): Person {
  return { id, name: nick || global_name || username || id, bot: bot === true };
}

/** Our mention is taken out. Others read as names instead of numbers. */
function withoutMention(
  written: string,
  mentions: readonly z.infer<typeof user>[],
  botId: string,
): { readonly text: string; readonly mentioned: boolean } {
  let mentioned = false;
  const text = written.replaceAll(/<@!?(\d{1,20})>/g, (mention, id: string) => {
    if (id === botId) {
      mentioned = true;
      return '';
    }
    const person = mentions.find((one) => one.id === id);
    return person === undefined ? mention : `@${personOf(person).name}`;
  });
  return { text: text.trim(), mentioned };
}

/** The address of an attachment is signed and holds for about a day. */
function fileOf({ filename, content_type, size, url }: z.infer<typeof attachment>): ChatFile {
  return { id: url, name: filename, mimeType: content_type ?? null, bytes: size ?? null };
}
