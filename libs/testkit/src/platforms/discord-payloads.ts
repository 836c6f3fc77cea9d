/** What Discord sends: messages and interactions as its documentation shows them, with everything that we do not read. */

export interface DiscordPerson {
  readonly id: string;
  readonly name?: string;
  readonly bot?: boolean;
}

export interface DiscordWriting {
  readonly id: string;
  readonly channel: string;
  readonly from: DiscordPerson;
  readonly text: string;
  /** The server; null: a conversation of two. */
  readonly guild?: string | null;
  /** The message that it replies to. */
  readonly replyTo?: string;
  readonly mentions?: readonly DiscordPerson[];
  readonly attachments?: readonly Readonly<Record<string, unknown>>[];
  readonly over?: Readonly<Record<string, unknown>>;
}

const GUILD = '900';

function userOf({ id, name, bot }: DiscordPerson): Readonly<Record<string, unknown>> {
  return {
    id,
    username: `user${id}`,
    discriminator: '0',
    global_name: name ?? null,
    avatar: null,
    public_flags: 0,
    ...(bot === true ? { bot } : {}),
  };
}

/** https://docs.discord.com/developers/resources/message#message-object, as the gateway sends it. */
export function discordMessage(said: DiscordWriting): Readonly<Record<string, unknown>> {
  const {
    id,
    channel,
    from,
    text,
    guild = GUILD,
    replyTo,
    mentions = [],
    attachments = [],
    over = {},
  } = said;
  return {
    id,
    type: replyTo === undefined ? 0 : 19,
    channel_id: channel,
    author: userOf(from),
    content: text,
    timestamp: '2026-11-18T20:00:00.000000+00:00',
    edited_timestamp: null,
    tts: false,
    mention_everyone: false,
    mentions: mentions.map(userOf),
    mention_roles: [],
    attachments,
    embeds: [],
    components: [],
    pinned: false,
    flags: 0,
    nonce: '1',
    channel_type: 0,
    ...(guild === null ? {} : { guild_id: guild, member: { nick: null, roles: [], joined_at: null } }),
    ...(replyTo === undefined
      ? {}
      : { message_reference: { type: 0, channel_id: channel, guild_id: guild, message_id: replyTo } }),
    ...over,
  };
}

export interface DiscordDoing {
  readonly id: string;
  readonly applicationId: string;
  readonly token: string;
  readonly channel: string;
  readonly from: DiscordPerson;
  readonly guild?: string | null;
  /** The channel around it, if it is a thread. */
  readonly parent?: string;
}

function interaction(
  { id, applicationId, token, channel, from, guild = GUILD, parent }: DiscordDoing,
  type: number,
  more: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return {
    version: 1,
    id,
    application_id: applicationId,
    type,
    token,
    channel_id: channel,
    channel: {
      id: channel,
      type: guild === null ? 1 : parent === undefined ? 0 : 11,
      name: 'general',
      ...(parent === undefined ? {} : { parent_id: parent }),
    },
    locale: 'en-US',
    entitlements: [],
    context: guild === null ? 1 : 0,
    ...(guild === null
      ? { user: userOf(from) }
      : { guild_id: guild, member: { user: userOf(from), nick: null, roles: [], permissions: '0' } }),
    ...more,
  };
}

/** A click on a button. */
export function discordClick(
  doing: DiscordDoing & { readonly message: string; readonly data: string },
): Readonly<Record<string, unknown>> {
  const { message, data, channel } = doing;
  return interaction(doing, 3, {
    message: { id: message, channel_id: channel, type: 0, content: '...' },
    data: { custom_id: data, component_type: 2, id: 2 },
  });
}

/** A command of the menu. */
export function discordCommand(
  doing: DiscordDoing & { readonly name: string; readonly text?: string },
): Readonly<Record<string, unknown>> {
  const { name, text } = doing;
  return interaction(doing, 2, {
    data: {
      id: '77',
      name,
      type: 1,
      ...(text === undefined ? {} : { options: [{ name: 'text', type: 3, value: text }] }),
    },
  });
}
