import { z } from 'zod';
import type { ChatUpdate } from '../../platform.ts';
import { addressIn, discordPlace, member, personOf, snowflake, user } from './discord-message.ts';

/**
 * Interactions (https://docs.discord.com/developers/interactions/receiving-and-responding): commands of the menu and clicks.
 * They come to the webhook if the application has an interactions URL, else by the gateway.
 */

export const PING = 1;
const COMMAND = 2;
const COMPONENT = 3;

/** PUBLIC_THREAD, PRIVATE_THREAD and ANNOUNCEMENT_THREAD. */
const THREADS: ReadonlySet<number> = new Set([10, 11, 12]);

export const channelSchema = z.object({
  id: z.string(),
  type: z.number().int(),
  parent_id: z.string().nullish(),
  guild_id: z.string().nullish(),
});

/** The channel around a thread; null: the channel is not a thread. */
export function parentOf({ type, parent_id: parent }: z.infer<typeof channelSchema>): string | null {
  return THREADS.has(type) ? (parent ?? null) : null;
}

const option = z.object({ value: z.union([z.string(), z.number(), z.boolean()]).optional() });
const interactionSchema = z.object({
  id: z.string(),
  application_id: z.string(),
  type: z.number().int(),
  token: z.string(),
  guild_id: z.string().nullish(),
  channel_id: snowflake.optional(),
  channel: channelSchema.partial({ id: true }).nullish(),
  member: member.extend({ user }).nullish(),
  user: user.nullish(),
  message: z.object({ id: z.string() }).nullish(),
  data: z
    .object({
      name: z.string().optional(),
      custom_id: z.string().optional(),
      options: z.array(option).optional(),
    })
    .nullish(),
});

/** What Discord wants back with an answer. */
export interface Interaction {
  readonly id: string;
  readonly token: string;
  readonly application: string;
}

/** Never throws: what it does not know is `other`. */
export function readInteraction(raw: unknown): ChatUpdate {
  const parsed = interactionSchema.safeParse(raw);
  if (!parsed.success)
    return { kind: 'other', updateId: 'unreadable', why: 'not an interaction that we know' };
  const { id, application_id: app, type, token, channel_id: channel, data, ...said } = parsed.data;
  const updateId = `${app}:${id}`;
  const other = (why: string): ChatUpdate => ({ kind: 'other', updateId, why });
  const who = said.member?.user ?? said.user;
  if (who == null || channel === undefined) return other('an interaction outside of a channel');
  const parent = said.channel == null ? null : parentOf({ id: channel, ...said.channel });
  const place = discordPlace(channel, parent);
  const from = personOf(who, said.member?.nick);
  if (type === COMPONENT) {
    if (said.message == null || data?.custom_id === undefined) return other('a click without a message');
    return {
      kind: 'click',
      updateId,
      place,
      from,
      message: said.message.id,
      data: data.custom_id,
      acknowledgement: { id, token, application: app },
    };
  }
  if (type !== COMMAND || data?.name === undefined)
    return other('an interaction of a kind that we do not use');
  const rest = (data.options ?? [])
    .flatMap(({ value }) => (value === undefined ? [] : [String(value)]))
    .join(' ');
  return {
    kind: 'message',
    updateId,
    place,
    from,
    message: id,
    replyTo: null,
    text: `/${data.name} ${rest}`.trim(),
    direct: said.guild_id == null,
    mentioned: true,
    command: { name: data.name.toLowerCase(), rest },
    forwarded: false,
    files: [],
    answerTo: addressIn(channel, parent),
  };
}

const tokenSchema = z.object({ id: z.string(), token: z.string(), application_id: z.string() });

/** What Discord wants back with the answer; null: it is not an interaction. */
export function tokenOf(raw: unknown): Interaction | null {
  const parsed = tokenSchema.safeParse(raw);
  if (!parsed.success) return null;
  const { id, token, application_id: application } = parsed.data;
  return { id, token, application };
}

const commandSchema = z.object({ type: z.literal(COMMAND) });

export const isCommand = (raw: unknown): boolean => commandSchema.safeParse(raw).success;

/** CHANNEL_MESSAGE_WITH_SOURCE, DEFERRED_CHANNEL_MESSAGE_WITH_SOURCE and DEFERRED_UPDATE_MESSAGE. */
const MESSAGE = 4;
const MESSAGE_LATER = 5;
const NOTHING_TO_SHOW = 6;
/** Shown to the person who clicked or typed only. */
const EPHEMERAL = 1 << 6;
const LONGEST = 2_000;

/** An answer to an interaction that nobody else sees. */
export function quietAnswer(text: string): { readonly type: number; readonly data?: object } {
  return text === ''
    ? { type: NOTHING_TO_SHOW }
    : {
        type: MESSAGE,
        data: {
          content: text.slice(0, LONGEST).toWellFormed(),
          flags: EPHEMERAL,
          allowed_mentions: { parse: [] },
        },
      };
}

/** The answer comes later. Nobody else sees that. */
export const DEFERRED = { type: MESSAGE_LATER, data: { flags: EPHEMERAL } };

/** A command of the menu must be answered within 3 s. Its real answer is a message of delivery. */
export const COMMAND_RECEIVED = 'Received.';
