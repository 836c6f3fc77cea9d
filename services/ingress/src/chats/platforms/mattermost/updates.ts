import { z } from 'zod';
import type { ChatFile, ChatUpdate, OtherUpdate, PlatformSettings } from '../../platform.ts';
import { readCommand } from '../read-command.ts';

/**
 * What Mattermost sends: clicks on buttons, slash commands and outgoing webhooks to our address
 * (https://developers.mattermost.com/integrate), and posts over its WebSocket. Only the fields that count are read; what
 * does not fit is `other`.
 */

const id = z.string().regex(/^[a-z0-9]{26}$/);
const idOrNone = z.union([id, z.literal('')]).nullish();

const clickBody = z.object({
  user_id: id,
  user_name: z.string().default(''),
  channel_id: id,
  post_id: id,
  trigger_id: z.string().min(1),
  context: z.object({ data: z.string(), proof: z.string() }),
});
const commandBody = z.object({
  command: z.string().startsWith('/'),
  text: z.string().default(''),
  channel_id: id,
  channel_name: z.string().default(''),
  user_id: id,
  user_name: z.string().default(''),
  trigger_id: z.string().min(1),
  root_id: idOrNone,
});
const outgoingBody = z.object({
  token: z.string(),
  post_id: id,
  channel_id: id,
  user_id: id,
  user_name: z.string().default(''),
  text: z.string().default(''),
  trigger_word: z.string().default(''),
});
const post = z.object({
  id,
  create_at: z.number(),
  delete_at: z.number().default(0),
  user_id: z.string(),
  channel_id: id,
  root_id: idOrNone,
  message: z.string().default(''),
  /** Empty for what somebody wrote. */
  type: z.string().default(''),
  props: z.record(z.string(), z.unknown()).nullish(),
  file_ids: z.array(z.string()).nullish(),
  metadata: z
    .object({
      files: z
        .array(
          z.object({
            id: z.string(),
            name: z.string().optional(),
            mime_type: z.string().optional(),
            size: z.number().optional(),
          }),
        )
        .nullish(),
    })
    .nullish(),
});

type Post = z.infer<typeof post>;

/** Longer than any catch-up reaches back, and shorter than a taken update is remembered. */
const OLDEST_MS = 48 * 3_600_000;

/** What a request to our address is. Each kind has a proof of its own, so nothing else may say which one it is. */
export function kindOf(body: unknown): 'click' | 'command' | 'outgoing-webhook' {
  const { context, command } = (body ?? {}) as { readonly context?: unknown; readonly command?: unknown };
  if (typeof context === 'object' && context !== null) return 'click';
  return command === undefined ? 'outgoing-webhook' : 'command';
}

export function readRequest(body: unknown): ChatUpdate {
  switch (kindOf(body)) {
    case 'click':
      return readClick(body);
    case 'command':
      return readSlashCommand(body);
    case 'outgoing-webhook':
      return readOutgoingWebhook(body);
  }
}

function readClick(body: unknown): ChatUpdate {
  const parsed = clickBody.safeParse(body);
  if (!parsed.success) return unreadable;
  const { user_id: user, user_name: name, channel_id: chat, post_id: message, ...click } = parsed.data;
  return {
    kind: 'click',
    updateId: `click:${click.trigger_id}`,
    place: { platform: 'mattermost', chat, thread: null },
    from: { id: user, name: name || user, bot: false },
    message,
    data: click.context.data,
    acknowledgement: {},
  };
}

/** One slash command, of any name, with the command as its first word: `/angelia status`. */
function readSlashCommand(body: unknown): ChatUpdate {
  const parsed = commandBody.safeParse(body);
  if (!parsed.success) return unreadable;
  const {
    channel_id: chat,
    user_id: user,
    user_name: name,
    trigger_id: trigger,
    root_id: root,
  } = parsed.data;
  const text = `/${parsed.data.text.trim().replace(/^\//, '') || 'help'}`;
  return {
    kind: 'message',
    updateId: `command:${trigger}`,
    place: { platform: 'mattermost', chat, thread: root || null },
    from: { id: user, name: name || user, bot: false },
    message: `command:${trigger}`,
    replyTo: root || null,
    text,
    // `<user>__<user>`: a conversation of two.
    direct: /^[a-z0-9]{26}__[a-z0-9]{26}$/.test(parsed.data.channel_name),
    mentioned: true,
    command: readCommand(text),
    forwarded: false,
    files: [],
    answerTo: { channel_id: chat, ...(root ? { root_id: root } : {}) },
  };
}

/** It does not say in which thread the post stands, so the answer cannot go there. The connection has that. */
function readOutgoingWebhook(body: unknown): ChatUpdate {
  const parsed = outgoingBody.safeParse(body);
  if (!parsed.success) return unreadable;
  const { post_id: updateId, channel_id: chat, user_id: user, user_name: name, ...said } = parsed.data;
  const whole = said.text.trim();
  const text = (
    said.trigger_word !== '' && whole.startsWith(said.trigger_word)
      ? whole.slice(said.trigger_word.length)
      : whole
  ).trim();
  if (text === '') return { kind: 'other', updateId, why: 'nothing to read' };
  return {
    kind: 'message',
    updateId,
    place: { platform: 'mattermost', chat, thread: null },
    from: { id: user, name: name || user, bot: false },
    message: updateId,
    replyTo: null,
    text,
    direct: false,
    mentioned: true,
    command: readCommand(text),
    forwarded: false,
    files: [],
    answerTo: { channel_id: chat },
  };
}

/** The bot whose connection it is. */
export interface OwnUser {
  readonly id: string;
  readonly username: string;
}

export interface PostedIn {
  /** `D`: a conversation of two. */
  readonly channelType: string;
  /** `@name`, or the id. */
  readonly sender: string;
}

export interface ReadPost {
  readonly update: ChatUpdate;
  /** When the server made the post (ms). */
  readonly createdAt: number | null;
}

export function readPost(
  raw: unknown,
  { channelType, sender }: PostedIn,
  self: OwnUser,
  { chat }: PlatformSettings,
  nowMs: number,
): ReadPost {
  const parsed = post.safeParse(raw);
  if (!parsed.success) return { update: unreadable, createdAt: null };
  const said = parsed.data;
  const createdAt = said.create_at;
  const other = (why: string): ReadPost => ({
    update: { kind: 'other', updateId: said.id, why },
    createdAt,
  });
  if (said.user_id === self.id) return other('our own');
  if (said.type !== '') return other(`a post of type ${said.type.slice(0, 50)}`);
  if (said.delete_at !== 0) return other('deleted');
  if (isOfBot(said)) return other('written by a bot');
  if (createdAt < nowMs - OLDEST_MS) return other('too old');
  const without = said.message.replaceAll(mentionOf(self.username), '');
  const text = without.trim();
  const files = filesOf(said);
  if (text === '' && files.length === 0) return other('nothing to read');
  const direct = channelType === 'D';
  const root = said.root_id || null;
  // In a channel, the answer to a post opens its thread. A conversation of two, or of the whole channel, goes on in place.
  const thread = root ?? (direct || chat.session_per === 'chat' ? null : said.id);
  return {
    createdAt,
    update: {
      kind: 'message',
      updateId: said.id,
      place: { platform: 'mattermost', chat: said.channel_id, thread },
      from: { id: said.user_id, name: sender.replace(/^@/, '') || said.user_id, bot: false },
      message: said.id,
      replyTo: root,
      text,
      direct,
      mentioned: without !== said.message,
      command: readCommand(text),
      forwarded: false,
      files,
      answerTo: { channel_id: said.channel_id, ...(thread === null ? {} : { root_id: thread }) },
    },
  };
}

function isOfBot({ props }: Post): boolean {
  return ['from_bot', 'from_webhook', 'from_plugin'].some((key) => String(props?.[key] ?? '') === 'true');
}

/** `@name`, and not the beginning of a longer name or the end of a mail address. */
function mentionOf(username: string): RegExp {
  const name = username.replaceAll(/[^a-z0-9._-]/gi, '').replaceAll('.', '\\.');
  return new RegExp(`(?<![\\w.@-])@${name}(?![\\w-]|\\.\\w)`, 'gi');
}

function filesOf({ metadata, file_ids: ids }: Post): ChatFile[] {
  const described = metadata?.files ?? [];
  if (described.length === 0)
    return (ids ?? []).map((one) => ({ id: one, name: 'file', mimeType: null, bytes: null }));
  return described.map(({ id: one, name, mime_type: type, size }) => ({
    id: one,
    name: name ?? 'file',
    mimeType: type || null,
    bytes: size ?? null,
  }));
}

const unreadable: OtherUpdate = { kind: 'other', updateId: 'unreadable', why: 'not an update that we know' };
