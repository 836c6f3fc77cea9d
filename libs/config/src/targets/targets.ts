import type { Config } from '@angelia/contracts';
import { z } from 'zod';
import { headerNameProblem, headerValueProblem } from './http-headers.ts';
import { httpUrlProblem, PLACEHOLDER } from './http-url.ts';
import {
  apiBase,
  credential,
  discordId,
  issueNumber,
  mailboxes,
  matrixEvent,
  matrixRoom,
  mattermostId,
  repository,
  sender,
  slackChannel,
  slackThread,
  telegramChat,
  telegramThread,
  text,
} from './target-values.ts';

/**
 * What a route says about its target is written to each of its sessions' events (config-is-a-fact), and those are for
 * ever: a credential has no place there.
 */
const CREDENTIAL = /authorization|cookie|token|secret|password|api-?key|access-?key|credential/i;
const CREDENTIAL_ADVICE =
  'this header looks like a credential, and would be written into the event log: put it under `targets.http.headers`';

function refuseCredentials(headers: Readonly<Record<string, string>>, context: z.RefinementCtx): void {
  for (const header of Object.keys(headers)) {
    if (CREDENTIAL.test(header))
      context.addIssue({ code: 'custom', path: [header], message: CREDENTIAL_ADVICE, params: SEEN_THROUGH });
  }
}

/** Else the config would be taken, and every delivery would fail. */
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
  // One that is empty has its own problem already.
  const problem = url === '' ? null : httpUrlProblem(url);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem, params: SEEN_THROUGH });
}

/** `params` of an issue that holds whatever the placeholders in the value stand for. */
const SEEN_THROUGH = { seenThrough: true };

const headers = z.record(z.string(), z.string()).superRefine(refuseBadHeaders);

interface TargetSchema {
  /** What may stand under `targets.<name>`: credentials and defaults. */
  readonly options: z.ZodType<Record<string, unknown>>;
  /**
   * Where at the target: a route's `deliver_extra`. Checked when the config is read, but for values that have
   * placeholders, and with those filled in when a webhook is accepted; what it makes of them is written to
   * `session.created`. Ids may be numbers in YAML: let it make strings of them (`text`).
   */
  readonly address: z.ZodType<Record<string, unknown>>;
  /**
   * Keys of `options` that stand in for the same key of an address that lacks it. An address that has the first of
   * them takes none: the default thread is a thread of the default chat.
   */
  readonly defaults?: readonly string[];
  /** Keys of the address that name a host: made by a template or an API route, it must not be private. */
  readonly hosts?: readonly string[];
  /** Its adapter has `edit`: routes may say `interim: edit`. */
  readonly edits?: boolean;
}

/**
 * The targets that this version can deliver to. A new one is an entry here, an adapter in services/delivery/src/targets
 * and a line in its registry.ts (docs/targets.md).
 */
const targetSchemas = {
  log: { options: z.strictObject({}), address: z.strictObject({}) },
  http: {
    options: z.strictObject({
      /** Signs what is sent (Standard Webhooks). */
      secret: z.string().min(1).optional(),
      /** Whether addresses from payloads, templates and API routes may be private. */
      allow_private_networks: z.boolean().default(false),
      /** Sent with everything; for credentials, as those of a route's `deliver_extra` are written to the session's events. */
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
        /** Another word for it. */
        thread_id: telegramThread.optional(),
      })
      .refine(
        ({ message_thread_id, thread_id }) => message_thread_id === undefined || thread_id === undefined,
        'says the topic once: `message_thread_id` or `thread_id`',
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
    /** To Discord a thread is a channel: its id is enough. */
    address: z
      .strictObject({ channel_id: discordId.optional(), thread_id: discordId.optional() })
      .refine(
        ({ channel_id, thread_id }) => channel_id !== undefined || thread_id !== undefined,
        'says where: `channel_id`, or `thread_id`',
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
        /** Every pull request is an issue: which of the two is said is for people. */
        pr_number: issueNumber.optional(),
        issue_number: issueNumber.optional(),
      })
      .refine(
        ({ pr_number, issue_number }) => (pr_number === undefined) !== (issue_number === undefined),
        'says which comment thread by one of `pr_number` and `issue_number`',
      ),
    defaults: ['repo'],
    edits: true,
  },
  email: {
    options: z.strictObject({
      host: z.string({ error: 'the SMTP server is needed' }).min(1),
      /** 587, with `tls` 465, with `none` 25. */
      port: z.number().int().min(1).max(65_535).optional(),
      /** `starttls` is insisted on; `none` is for a server on the same machine or network. */
      security: z.enum(['starttls', 'tls', 'none']).default('starttls'),
      user: z.string().min(1).optional(),
      password: z.string().min(1).optional(),
      from: sender,
      to: mailboxes.optional(),
    }),
    address: z.strictObject({
      to: mailboxes,
      cc: mailboxes.optional(),
      /** Default: the session's title. */
      subject: text.optional(),
    }),
    defaults: ['to'],
  },
  matrix: {
    options: z.strictObject({
      /** The homeserver's. */
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
      /** The server's, without `/api/v4`. */
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
 * A target's part of the config, with its defaults; a target that is not listed there has all of its defaults.
 * @throws when it needs what is not there: one that no route uses need not be configured (`isConfigured`)
 */
export function targetOptions<T extends KnownTarget>(config: Config, name: T): TargetOptions<T> {
  return targetSchemas[name].options.parse(config.targets[name] ?? {}) as TargetOptions<T>;
}

export function isConfigured(config: Config, name: KnownTarget): boolean {
  return targetSchemas[name].options.safeParse(config.targets[name] ?? {}).success;
}

export type ParsedAddress =
  | { readonly ok: true; readonly to: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly problems: readonly { readonly key: string; readonly reason: string }[] };

/** A `deliver_extra` whose placeholders are filled in, with the target's defaults for what it does not say. */
export function parseAddress(
  config: Config,
  name: KnownTarget,
  extra: Readonly<Record<string, unknown>>,
): ParsedAddress {
  const parsed = targetSchema(name).address.safeParse(withDefaults(config, name, extra));
  return parsed.success ? { ok: true, to: parsed.data } : { ok: false, problems: problemsOf(parsed.error) };
}

/** An address as it was captured, after its references were filled in: no default of today's config is added. */
export function parseCapturedAddress(name: string, to: Readonly<Record<string, unknown>>): ParsedAddress {
  if (!isKnownTarget(name)) return { ok: true, to };
  const parsed = targetSchema(name).address.safeParse(to);
  return parsed.success ? { ok: true, to: parsed.data } : { ok: false, problems: problemsOf(parsed.error) };
}

/** What is wrong with a `deliver_extra` as far as it can be told before its placeholders are filled in. */
export function templateProblems(
  config: Config,
  name: KnownTarget,
  extra: Readonly<Record<string, unknown>>,
): readonly { readonly key: string; readonly reason: string }[] {
  const whole = withDefaults(config, name, extra);
  const parsed = targetSchema(name).address.safeParse(whole);
  if (parsed.success) return [];
  const issues = parsed.error.issues.filter(
    (issue) => isSeenThrough(issue) || !isTemplate(valueAt(whole, issue.path)),
  );
  return problemsOf({ issues });
}

function withDefaults(
  config: Config,
  name: KnownTarget,
  extra: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const options = config.targets[name] ?? {};
  const { defaults: keys = [] } = targetSchema(name);
  if (keys[0] === undefined || Object.hasOwn(extra, keys[0])) return extra;
  const defaults = keys.filter((key) => options[key] !== undefined).map((key) => [key, options[key]]);
  return { ...Object.fromEntries(defaults), ...extra };
}

function problemsOf({ issues }: Pick<z.ZodError, 'issues'>): { key: string; reason: string }[] {
  return issues.flatMap((issue) => {
    const key = issue.path.map(String).join('.');
    if (issue.code !== 'unrecognized_keys') return [{ key, reason: issue.message }];
    return issue.keys.map((unknown) => ({
      key: key === '' ? unknown : `${key}.${unknown}`,
      reason: `unknown key \`${unknown}\``,
    }));
  });
}

function isSeenThrough(issue: z.core.$ZodIssue): boolean {
  return issue.code === 'custom' && issue.params?.seenThrough === true;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null ? (inner as Record<PropertyKey, unknown>)[key] : undefined,
    value,
  );
}

function isTemplate(value: unknown): boolean {
  return typeof value === 'string' && PLACEHOLDER.test(value);
}
