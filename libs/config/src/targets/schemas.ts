import { type Config, notA } from '@angelia/contracts';
import { z } from 'zod';
import { isLoopback } from '../loopback.ts';
import { signingSecretProblem } from '../secrets/webhook-signature.ts';
import { headerNameProblem, headerValueProblem } from './http-headers.ts';
import { httpUrlProblem } from './http-url.ts';
import {
  apiBase,
  credential,
  discordId,
  issueNumber,
  mailboxes,
  matrixEvent,
  matrixRoom,
  mattermostId,
  messageId,
  repository,
  reviewComment,
  sender,
  slackChannel,
  slackThread,
  telegramChat,
  telegramThread,
  text,
} from './values.ts';

/**
 * Events keep for ever what a route says about its target (invariant config-is-a-fact), so a route's headers must hold no
 * credential.
 */
const CREDENTIAL = /authorization|cookie|token|secret|password|api-?key|access-?key|credential/i;
const CREDENTIAL_ADVICE =
  'this header looks like a credential, and would be written into the event log. Put it under `targets.http.headers`.';

function refuseCredentials(headers: Readonly<Record<string, string>>, context: z.RefinementCtx): void {
  for (const header of Object.keys(headers)) {
    if (CREDENTIAL.test(header))
      context.addIssue({ code: 'custom', path: [header], message: CREDENTIAL_ADVICE, params: SEEN_THROUGH });
  }
}

/** Otherwise the config would be accepted and every delivery would fail. */
function refuseBadHeaders(headers: Readonly<Record<string, string>>, context: z.RefinementCtx): void {
  for (const [header, value] of Object.entries(headers)) {
    const ofName = headerNameProblem(header);
    if (ofName !== null)
      context.addIssue({ code: 'custom', path: [header], message: ofName, params: SEEN_THROUGH });
    const ofValue = headerValueProblem(value);
    if (ofValue !== null) context.addIssue({ code: 'custom', path: [header], message: ofValue });
  }
}

function refuseBadUrl(url: string, context: z.RefinementCtx): void {
  // An empty one is reported by the schema.
  const problem = url === '' ? null : httpUrlProblem(url);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem, params: SEEN_THROUGH });
}

function refuseBadSigningSecret(secret: string, context: z.RefinementCtx): void {
  // An empty one is reported by the schema.
  const problem = secret === '' ? null : signingSecretProblem(secret);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem });
}

interface MailServer {
  readonly host: string;
  readonly security: 'starttls' | 'tls' | 'none';
  readonly user?: string | undefined;
  readonly password?: string | undefined;
}

function refuseBadLogin({ host, security, user, password }: MailServer, context: z.RefinementCtx): void {
  if ((user === undefined) !== (password === undefined)) {
    const message = 'a user needs a password, and a password needs a user. Set both, or none of them.';
    context.addIssue({ code: 'custom', path: ['user'], message });
  } else if (security === 'none' && password !== undefined && !isLoopback(host)) {
    const message = 'a password is not sent over an unencrypted connection. Use starttls or tls.';
    context.addIssue({ code: 'custom', path: ['security'], message });
  }
}

/** `params` of an issue that holds whatever the placeholders in the value stand for (addresses.ts). */
export const SEEN_THROUGH = { seenThrough: true };

const headers = z.record(z.string(), z.string()).superRefine(refuseBadHeaders);

interface TargetSchema {
  /** The keys under `targets.<name>`: credentials and defaults. */
  readonly options: z.ZodType<Record<string, unknown>>;
  /**
   * The place at the target: a route's `deliver_extra`. It is checked when the config is read (values with placeholders
   * are skipped) and again with the placeholders filled in, when a webhook is accepted. The result is written to
   * `session.created`. Ids may be numbers in YAML: turn them into strings (`text`).
   */
  readonly address: z.ZodType<Record<string, unknown>>;
  /**
   * Keys of `options` that are the default for the same key of an address. An address that has the first of them takes
   * none of the others: the default thread is a thread of the default chat.
   */
  readonly defaults?: readonly string[];
  /** Keys of the address that name a host. A host from a template or an API route must not be private. */
  readonly hosts?: readonly string[];
  /** The adapter can edit what it sent, so routes may say `interim: edit`. */
  readonly edits?: boolean;
}

/**
 * The targets that this version can deliver to. A new one is an entry here, an adapter in services/delivery/src/targets
 * and a line in its target-registry.ts (docs/targets.md).
 */
const targetSchemas = {
  log: { options: z.strictObject({}), address: z.strictObject({}) },
  http: {
    options: z.strictObject({
      /** Signs each request (Standard Webhooks). */
      secret: z.string().min(1).superRefine(refuseBadSigningSecret).optional(),
      /** Whether URLs from payloads, templates and API routes may be private. */
      allow_private_networks: z.boolean().default(false),
      /** Sent with every request. Credentials belong here, because the headers of a route are written to events. */
      headers: headers.optional(),
    }),
    address: z.strictObject({
      url: z.string().min(1).superRefine(refuseBadUrl),
      headers: headers.superRefine(refuseCredentials).optional(),
    }),
    hosts: ['url'],
  },
  telegram: {
    options: z.strictObject({
      bot_token: credential,
      api_base: apiBase.default('https://api.telegram.org'),
      chat_id: telegramChat.optional(),
      message_thread_id: telegramThread.optional(),
      thread_id: telegramThread.optional(),
    }),
    address: z
      .strictObject({
        chat_id: telegramChat,
        message_thread_id: telegramThread.optional(),
        /** Another name for it. */
        thread_id: telegramThread.optional(),
      })
      .refine(
        ({ message_thread_id, thread_id }) => message_thread_id === undefined || thread_id === undefined,
        'the topic is given twice. Keep one of `message_thread_id` and `thread_id`.',
      ),
    defaults: ['chat_id', 'message_thread_id', 'thread_id'],
    edits: true,
  },
  slack: {
    options: z.strictObject({
      bot_token: credential,
      api_base: apiBase.default('https://slack.com/api'),
      channel: slackChannel.optional(),
      thread_ts: slackThread.optional(),
    }),
    address: z.strictObject({ channel: slackChannel, thread_ts: slackThread.optional() }),
    defaults: ['channel', 'thread_ts'],
    edits: true,
  },
  discord: {
    options: z.strictObject({
      bot_token: credential,
      api_base: apiBase.default('https://discord.com/api/v10'),
      channel_id: discordId.optional(),
      thread_id: discordId.optional(),
    }),
    /** For Discord a thread is a channel, so its id is enough. */
    address: z
      .strictObject({ channel_id: discordId.optional(), thread_id: discordId.optional() })
      .refine(
        ({ channel_id, thread_id }) => channel_id !== undefined || thread_id !== undefined,
        'the place is missing. Set `channel_id` or `thread_id`.',
      ),
    defaults: ['channel_id', 'thread_id'],
    edits: true,
  },
  github_comment: {
    options: z.strictObject({
      token: credential,
      api_base: apiBase.default('https://api.github.com'),
      repo: repository.optional(),
    }),
    address: z
      .strictObject({
        repo: repository,
        /** Every pull request is an issue, so both keys mean the same number. */
        pr_number: issueNumber.optional(),
        issue_number: issueNumber.optional(),
        /** The first comment of a review thread of `pr_number`: the answer is a reply there. */
        review_comment_id: reviewComment.optional(),
      })
      .refine(
        ({ pr_number, issue_number }) => (pr_number === undefined) !== (issue_number === undefined),
        'the number is missing or given twice. Set one of `pr_number` and `issue_number`.',
      )
      .refine(
        ({ pr_number, review_comment_id }) => review_comment_id === undefined || pr_number !== undefined,
        'only a pull request has review threads. Set `pr_number`, or remove `review_comment_id`.',
      ),
    defaults: ['repo'],
    edits: true,
  },
  email: {
    options: z
      .strictObject({
        host: z.string({ error: notA('a string', 'Set the host of the SMTP server.') }).min(1),
        /** Default: 587, 465 with `tls`, 25 with `none`. */
        port: z.number().int().min(1).max(65_535).optional(),
        /** `starttls` is required, not tried; `none` is for a server on the same machine or network. */
        security: z.enum(['starttls', 'tls', 'none']).default('starttls'),
        user: z.string().min(1).optional(),
        password: z.string().min(1).optional(),
        from: sender,
        to: mailboxes.optional(),
      })
      .superRefine(refuseBadLogin),
    address: z.strictObject({
      to: mailboxes,
      cc: mailboxes.optional(),
      /** Default: the session's title. */
      subject: text.optional(),
      /** The Message-ID of the mail that the first answer replies to. */
      in_reply_to: messageId.optional(),
      /** The Message-ID of the first mail of the conversation, if it is another one. */
      thread: messageId.optional(),
    }),
    defaults: ['to'],
  },
  matrix: {
    options: z.strictObject({
      /** The URL of the homeserver. */
      api_base: apiBase,
      access_token: credential,
      room_id: matrixRoom.optional(),
      thread_id: matrixEvent.optional(),
    }),
    address: z.strictObject({ room_id: matrixRoom, thread_id: matrixEvent.optional() }),
    defaults: ['room_id', 'thread_id'],
    edits: true,
  },
  mattermost: {
    options: z.strictObject({
      /** The URL of the server, without `/api/v4`. */
      api_base: apiBase,
      token: credential,
      channel_id: mattermostId.optional(),
      root_id: mattermostId.optional(),
    }),
    address: z.strictObject({ channel_id: mattermostId, root_id: mattermostId.optional() }),
    defaults: ['channel_id', 'root_id'],
    edits: true,
  },
} as const satisfies Record<string, TargetSchema>;

export type KnownTarget = keyof typeof targetSchemas;
export type TargetOptions<T extends KnownTarget> = z.infer<(typeof targetSchemas)[T]['options']>;

export const knownTargets = Object.keys(targetSchemas) as KnownTarget[];

export function isKnownTarget(name: string): name is KnownTarget {
  return Object.hasOwn(targetSchemas, name);
}

export function targetSchema(name: KnownTarget): TargetSchema {
  return targetSchemas[name];
}

/**
 * A target's part of the config, with its defaults. A target that the config does not list has all of its defaults.
 * @throws if a required option is missing: a target that no route uses need not be configured (`isConfigured`)
 */
export function targetOptions<T extends KnownTarget>(config: Config, name: T): TargetOptions<T> {
  return targetSchemas[name].options.parse(config.targets[name] ?? {}) as TargetOptions<T>;
}

export function isConfigured(config: Config, name: KnownTarget): boolean {
  return targetSchemas[name].options.safeParse(config.targets[name] ?? {}).success;
}
