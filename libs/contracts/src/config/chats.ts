import { z } from 'zod';
import { imageTypes } from '../events/images.ts';
import { toolsSchema } from './tools.ts';
import { name } from './values.ts';

/** YAML has read another number by then: ids of Discord have 18 digits. */
const writtenNumber = z.int({
  error: ({ code }) =>
    code === 'too_big' || code === 'too_small'
      ? 'this number has too many digits to be read exactly. Put the id in quotes.'
      : undefined,
});

/** An id as the platform spells it. Numbers in YAML are taken as they are written. */
const platformId = z.union([z.string().min(1), writtenNumber.transform(String)]);

/** Telegram takes `secret_token` with these characters only (setWebhook). */
const telegramSecret = z
  .string()
  .regex(/^[A-Za-z0-9_-]{16,256}$/, 'Telegram takes 16 to 256 letters, digits, - and _ here.');

/** The keys of every chat. */
const common = {
  enabled: z.boolean().default(true),
  /** Who may speak, by the platform's ids. Pairing (`angelia chat pair`) lets in others. */
  speakers: z
    .strictObject({
      users: z.array(platformId).default([]),
      /** Everybody in these chats, groups or channels. */
      chats: z.array(platformId).default([]),
      /** Everybody who finds the bot. */
      anyone: z.boolean().default(false),
    })
    .prefault({}),
  /** The reply to a stranger, at most once a day. Missing: a stranger gets no reply. */
  stranger_reply: z.string().min(1).max(1_000).optional(),
  /** False: only replies to what was delivered are taken, and commands. */
  conversations: z.boolean().default(true),
  /** Who works on conversations that begin in the chat. Replies go to the session that they reply to. */
  agent: name.default('default'),
  toolsets: z.array(z.string()).optional(),
  tools: toolsSchema.optional(),
  /** In groups, a message that neither mentions the bot nor replies to it is ignored. */
  mention: z.boolean().default(true),
  /** `thread`: a thread or topic has a conversation of its own. */
  session_per: z.enum(['chat', 'thread']).default('thread'),
  /** A message that comes while its session is at work. */
  on_busy: z.enum(['queue', 'interrupt', 'reject']).default('queue'),
  interim: z.enum(['message', 'edit', 'off']).default('message'),
  /** Files in messages. Images go to models that take them, texts into the message. */
  files: z
    .strictObject({
      take: z.boolean().default(false),
      /** Files of the session's directory that an answer names are sent with it. */
      deliver: z.boolean().default(false),
      /** Of one file. */
      max_bytes: z.number().int().min(1).max(3_145_728).default(1_048_576),
      /** As their senders declare them, or by the ending of the name. The content of a file must agree with its type. */
      types: z
        .array(
          z
            .string()
            .regex(/^[a-z0-9.+-]+\/[a-z0-9.+-]+$/i, 'this is not a type. Write one such as image/png.'),
        )
        .default([
          ...imageTypes,
          'text/plain',
          'text/markdown',
          'text/csv',
          'text/x-diff',
          'text/x-patch',
          'application/json',
        ]),
    })
    .prefault({}),
};

const webhookOrConnection = z.enum(['webhook', 'connection']);

/**
 * One entry per platform: how its updates come in, and the secrets that prove them. What calls of the platform need is under
 * `targets.<platform>`. A platform without a connection (or without a webhook) has a literal as `receive`.
 */
const telegram = z.strictObject({
  platform: z.literal('telegram'),
  /** `connection`: getUpdates, which ingress calls. Needs no public address. */
  receive: webhookOrConnection.default('connection'),
  /** `secret_token` of setWebhook, which Telegram sends with each update. */
  webhook_secret: telegramSecret.optional(),
  /** The name of the bot without @, to know where it is mentioned in groups. */
  bot_name: z
    .string()
    .regex(
      /^[A-Za-z][A-Za-z0-9_]{3,63}$/,
      'this is not the name of a bot. Write it without @, such as my_bot.',
    )
    .optional(),
  ...common,
});

/** One secret, or several while one replaces another. */
const secrets = z.union([z.string().min(8), z.array(z.string().min(8)).min(1).max(10)]);

const slack = z.strictObject({
  platform: z.literal('slack'),
  /** `connection`: Socket Mode, which ingress opens. Needs no public address. */
  receive: webhookOrConnection.default('connection'),
  /** The app-level token, with the scope `connections:write`. For `connection`. */
  app_token: z
    .string()
    .startsWith('xapp-', 'this is not an app-level token of Slack. One begins with xapp-.')
    .optional(),
  /** The Signing Secret of the app. For `webhook`. */
  signing_secret: secrets.optional(),
  ...common,
});

const mattermost = z.strictObject({
  platform: z.literal('mattermost'),
  /**
   * `connection`: the server's WebSocket, which ingress opens. Clicks and slash commands come to the webhook address in any
   * case.
   */
  receive: webhookOrConnection.default('connection'),
  /** The token of the slash command, one for each team. */
  command_token: secrets.optional(),
  /** The token of the outgoing webhook. For `webhook`. */
  outgoing_token: secrets.optional(),
  ...common,
});

/** 32 bytes in hex, from General Information of the application. */
const discordPublicKey = z
  .string()
  .regex(
    /^[0-9a-fA-F]{64}$/,
    'this is not a public key of Discord. Copy the 64 characters from General Information of the application.',
  );

const discord = z.strictObject({
  platform: z.literal('discord'),
  /** `connection`: the gateway. `webhook`: the interactions URL, which brings commands and clicks only, and no messages. */
  receive: webhookOrConnection.default('connection'),
  /** Proves what the interactions URL gets. */
  public_key: discordPublicKey.optional(),
  ...common,
});

const matrix = z.strictObject({
  platform: z.literal('matrix'),
  /** /sync. A homeserver has no webhooks. */
  receive: z.literal('connection').default('connection'),
  /** The user that the token belongs to, such as `@angelia:example.org`. */
  user_id: z
    .string()
    .regex(
      /^@[^:\s]{1,200}:[^\s]{1,200}$/,
      'this is not a user of Matrix. Write one such as @angelia:example.org.',
    ),
  ...common,
});

/** Logins and mail addresses, which are the same however they are written. Platforms here read them in lower case. */
const caselessIds = z.array(platformId.transform((id) => id.toLowerCase())).default([]);

const githubComment = z.strictObject({
  platform: z.literal('github_comment'),
  receive: z.literal('webhook').default('webhook'),
  /** The secret of the webhook, in the settings of the repository or organisation. */
  webhook_secret: z.string().min(6),
  /** The login of the account whose token `targets.github_comment` has. Comments mention it. */
  bot_name: z
    .string()
    .regex(
      /^[A-Za-z0-9](?:[A-Za-z0-9]|-(?=[A-Za-z0-9])){0,38}(?:\[bot\])?$/,
      'this is not a login of GitHub. Write it without @, such as my-bot.',
    ),
  /** Whoever has this relation to the repository may speak, besides `speakers`. */
  associations: z.array(z.enum(['OWNER', 'MEMBER', 'COLLABORATOR'])).default([]),
  ...common,
  speakers: common.speakers.unwrap().extend({ users: caselessIds }).prefault({}),
});

const email = z.strictObject({
  platform: z.literal('email'),
  /** `connection`: a mailbox by IMAP. `webhook`: a provider posts each mail. */
  receive: webhookOrConnection.default('connection'),
  imap: z
    .strictObject({
      host: z.string().min(1),
      /** Default: 993, or 143 with `starttls` and `none`. */
      port: z.number().int().min(1).max(65_535).optional(),
      /** `none` is for a server on the same machine. */
      security: z.enum(['tls', 'starttls', 'none']).default('tls'),
      user: z.string().min(1),
      password: z.string().min(1),
      mailbox: z.string().min(1).default('INBOX'),
    })
    .optional(),
  provider: z
    .discriminatedUnion('name', [
      /** `signing_key`: the HTTP webhook signing key of the account. */
      z.strictObject({ name: z.literal('mailgun'), signing_key: z.string().min(6) }),
      /** The user and password in the address of the inbound webhook. */
      z.strictObject({ name: z.literal('postmark'), user: z.string().min(1), password: z.string().min(6) }),
    ])
    .optional(),
  /**
   * The name that the receiving server uses in `Authentication-Results`. Angelia trusts what that server says about the sender
   * of a mail.
   */
  authserv_id: z.string().min(1).optional(),
  ...common,
  speakers: common.speakers
    .unwrap()
    .extend({
      users: caselessIds,
      chats: caselessIds,
      /** Trusts mails without such a header. Use it only if nobody else can send mails to the mailbox. */
      unauthenticated: z.boolean().default(false),
    })
    .prefault({}),
});

/** A chat with the platform's bot: key `chats.<name>`. */
export const chatSchema = z.discriminatedUnion('platform', [
  telegram,
  slack,
  discord,
  mattermost,
  matrix,
  githubComment,
  email,
]);
