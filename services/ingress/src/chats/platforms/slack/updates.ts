import { z } from 'zod';
import type { ChatFile, ChatUpdate, PlatformSettings } from '../../platform.ts';
import { readCommand } from '../read-command.ts';
import { mentionsOf, plainText } from './text.ts';

/**
 * What Slack sends to the webhook, and in the envelopes of Socket Mode: events (https://docs.slack.dev/apis/events-api),
 * interactions (https://docs.slack.dev/reference/interaction-payloads) and slash commands. Only the fields that count are
 * read; what does not fit is `other`.
 */

const file = z.object({
  id: z.string(),
  name: z.string().nullish(),
  mimetype: z.string().nullish(),
  size: z.number().nullish(),
});
/** A message that somebody shared has the original in an attachment. */
const attachment = z.object({
  is_share: z.boolean().optional(),
  text: z.string().optional(),
});
const message = z.object({
  type: z.enum(['message', 'app_mention']),
  subtype: z.string().optional(),
  hidden: z.boolean().optional(),
  channel: z.string(),
  channel_type: z.string().optional(),
  user: z.string().optional(),
  bot_id: z.string().nullish(),
  text: z.string().default(''),
  ts: z.string().regex(/^\d{1,12}\.\d{1,9}$/),
  thread_ts: z.string().optional(),
  files: z.array(file).optional(),
  attachments: z.array(attachment).optional(),
});
const eventCallback = z.object({
  type: z.literal('event_callback'),
  team_id: z.string(),
  event_id: z.string(),
  authorizations: z
    .array(z.object({ user_id: z.string().nullish(), is_bot: z.boolean().nullish() }))
    .nullish(),
  event: z.looseObject({ type: z.string() }),
});
const blockActions = z.object({
  type: z.literal('block_actions'),
  trigger_id: z.string(),
  user: z.object({ id: z.string(), username: z.string().optional(), name: z.string().optional() }),
  team: z.object({ id: z.string() }).nullish(),
  container: z.object({ message_ts: z.string(), channel_id: z.string(), thread_ts: z.string().optional() }),
  message: z.object({ thread_ts: z.string().optional() }).optional(),
  actions: z.array(z.object({ type: z.string(), value: z.string().optional() })).min(1),
});
const slashCommand = z.object({
  command: z.string().startsWith('/'),
  text: z.string().default(''),
  team_id: z.string(),
  channel_id: z.string(),
  user_id: z.string(),
  user_name: z.string().default(''),
  trigger_id: z.string(),
});

type Message = z.infer<typeof message>;
type EventCallback = z.infer<typeof eventCallback>;

/** The others are edits, deletions, joins, bots and what Slack itself says in a channel. */
const SAID_BY_A_PERSON: ReadonlySet<string> = new Set(['file_share', 'thread_broadcast', 'me_message']);

/** Longer than Slack repeats an event, and shorter than a taken update is remembered. */
const OLDEST_SECONDS = 48 * 3_600;

export function readUpdate(body: unknown, { chat }: PlatformSettings, nowMs: number): ChatUpdate {
  const event = eventCallback.safeParse(body);
  if (event.success) return readEvent(event.data, chat.session_per === 'chat', nowMs);
  const click = blockActions.safeParse(body);
  if (click.success) return readClick(click.data);
  const command = slashCommand.safeParse(body);
  if (command.success) return readSlashCommand(command.data);
  return { kind: 'other', updateId: 'unreadable', why: 'not an update that we know' };
}

function readEvent(
  { event, event_id: eventId, team_id: team, authorizations }: EventCallback,
  onePerChat: boolean,
  nowMs: number,
): ChatUpdate {
  const other = (why: string): ChatUpdate => ({ kind: 'other', updateId: `${team}:${eventId}`, why });
  const parsed = message.safeParse(event);
  if (!parsed.success) return other(`an event of type ${event.type.slice(0, 50)}`);
  const said = parsed.data;
  if (said.subtype !== undefined && !SAID_BY_A_PERSON.has(said.subtype))
    return other(`a message of type ${said.subtype.slice(0, 50)}`);
  if (said.hidden === true) return other('a hidden message');
  if (said.user === undefined) return other('not sent by a person');
  if (said.bot_id != null || said.user === 'USLACKBOT') return other('written by a bot');
  if (Number(said.ts) < nowMs / 1000 - OLDEST_SECONDS) return other('too old');
  const bot = authorizations?.find((one) => one.is_bot === true)?.user_id ?? null;
  const { comment, mentioned } = addressed(said, bot);
  const shared = (said.attachments ?? []).filter((one) => one.is_share === true).map((one) => one.text ?? '');
  const quoted = plainText(shared.join('\n\n')).trim();
  const files = filesOf(said);
  if (comment === '' && quoted === '' && files.length === 0) return other('nothing to read');
  const forwarded = comment === '' && quoted !== '';
  const direct = said.channel_type === 'im';
  const inThread = said.thread_ts !== undefined && said.thread_ts !== said.ts;
  // In a channel, the answer to a message opens its thread. A conversation of two, or of the whole channel, goes on in place.
  const thread = inThread ? (said.thread_ts ?? null) : direct || onePerChat ? null : said.ts;
  return {
    kind: 'message',
    // A mention comes twice, as `message` and as `app_mention`, with two ids of events. The message is the same one.
    updateId: `${team}:${said.channel}:${said.ts}`,
    place: { platform: 'slack', chat: said.channel, thread },
    from: { id: said.user, name: said.user, bot: false },
    message: said.ts,
    replyTo: inThread ? (said.thread_ts ?? null) : null,
    text: [comment, quoted].filter((part) => part !== '').join('\n\n'),
    direct,
    mentioned,
    command: forwarded ? null : readCommand(comment),
    forwarded,
    files,
    answerTo: { channel: said.channel, ...(thread === null ? {} : { thread_ts: thread }) },
  };
}

function addressed(said: Message, bot: string | null): { comment: string; mentioned: boolean } {
  const ours = bot === null ? null : mentionsOf(bot);
  // Without the bot's id, a mention of the app begins most messages.
  const without =
    ours !== null
      ? said.text.replaceAll(ours, '')
      : said.type === 'app_mention'
        ? said.text.replace(/^\s*<@[^<>]*>/, '')
        : said.text;
  return {
    comment: plainText(without).trim(),
    mentioned: said.type === 'app_mention' || without !== said.text,
  };
}

function filesOf({ files = [] }: Message): ChatFile[] {
  return files.map(({ id, name, mimetype, size }) => ({
    id,
    name: name ?? 'file',
    mimeType: mimetype ?? null,
    bytes: size ?? null,
  }));
}

function readClick(click: z.infer<typeof blockActions>): ChatUpdate {
  const { trigger_id: trigger, container, user } = click;
  const updateId = `${click.team?.id ?? ''}:click:${trigger}`;
  const action = click.actions.find(({ type, value }) => type === 'button' && value !== undefined);
  if (action?.value === undefined) return { kind: 'other', updateId, why: 'not a click on a button' };
  const thread = click.message?.thread_ts ?? container.thread_ts;
  return {
    kind: 'click',
    updateId,
    // As delivery spells it: a message outside of threads begins its own.
    place: { platform: 'slack', chat: container.channel_id, thread: thread ?? container.message_ts },
    from: { id: user.id, name: user.name ?? user.username ?? user.id, bot: false },
    message: container.message_ts,
    data: action.value,
    acknowledgement: thread === undefined ? {} : { thread_ts: thread },
  };
}

/** One slash command, of any name, with the command as its first word: `/angelia status`. Slack keeps `/status` for itself. */
function readSlashCommand(said: z.infer<typeof slashCommand>): ChatUpdate {
  const { channel_id: channel, trigger_id: trigger, user_id: user } = said;
  const text = `/${plainText(said.text).trim().replace(/^\//, '') || 'help'}`;
  return {
    kind: 'message',
    updateId: `${said.team_id}:command:${trigger}`,
    place: { platform: 'slack', chat: channel, thread: null },
    from: { id: user, name: said.user_name || user, bot: false },
    message: `command:${trigger}`,
    replyTo: null,
    text,
    direct: channel.startsWith('D'),
    mentioned: true,
    command: readCommand(text),
    forwarded: false,
    files: [],
    answerTo: { channel },
  };
}
