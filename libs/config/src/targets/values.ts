import { notA } from '@angelia/contracts';
import { z } from 'zod';

/** The values in a target's options and addresses. */

/** A string, or a number: names and ids are often numbers in YAML and in payloads. */
export const text = z
  .union([z.string(), z.number()], { error: notA('a string', 'Write a string or a number.') })
  .transform(String)
  .pipe(z.string().min(1));

export const credential = z
  .string({ error: notA('a string', 'Write it as a string, in quotes if it is a number.') })
  .min(1);

/** The URL of a platform's API; a slash at its end is removed. */
export const apiBase = z
  .url({
    protocol: /^https?$/,
    error: notA('an http or https URL', 'Write one such as https://example.com.'),
  })
  .refine(
    // Also called for a value that is not a URL, which is reported already.
    (url) => !URL.canParse(url) || (new URL(url).username === '' && new URL(url).password === ''),
    'this URL has a user or a password, which would not be sent. Remove them.',
  )
  .transform((url) => url.replace(/\/+$/, ''));

const NOT_A_REPOSITORY = notA('a repository', 'Write owner/name.');

/**
 * `owner/name`. Not `.` or `..` alone, which would lead elsewhere in the API's path. Owners that a company manages have
 * a `_`.
 */
export const repository = z
  .string({ error: NOT_A_REPOSITORY })
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]*\/(?!\.{1,2}$)[A-Za-z0-9._-]+$/, { error: NOT_A_REPOSITORY });

export const issueNumber = text.pipe(
  z.string().regex(/^[1-9][0-9]{0,9}$/, 'this is not the number of an issue. Write a number such as 17.'),
);

export const reviewComment = text.pipe(
  z.string().regex(/^[1-9][0-9]{0,15}$/, 'this is not the id of a review comment. Write a number.'),
);

export const messageId = z
  .string()
  .regex(/^<[^<>\s]{1,500}>$/, 'this is not a Message-ID. Write one such as <id@example.com>.');

/** One address, no name, no comment: the header and the envelope must hold exactly what was checked. */
const MAILBOX =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*$/;
/** A payload may name who gets a mail. This keeps it from naming a whole company. */
const MOST_MAILBOXES = 20;

/** A list, or a string with commas. */
export const mailboxes = z
  .union([z.string(), z.array(z.string())], {
    error: notA('a mail address or a list of them', 'Write one such as name@example.com.'),
  })
  .superRefine((given, context) => {
    const list = listOf(given);
    const refuse = (message: string, path: number[] = []) =>
      context.addIssue({ code: 'custom', path, message });
    if (list.length === 0) refuse('the list is empty. Write at least one mail address.');
    if (list.length > MOST_MAILBOXES)
      refuse(`the list is too long. Write at most ${MOST_MAILBOXES} mail addresses.`);
    list.forEach((one, index) => {
      if (!MAILBOX.test(one))
        refuse(
          'this is not a mail address. Write one such as name@example.com.',
          Array.isArray(given) ? [index] : [],
        );
    });
  })
  .transform(listOf);

function listOf(given: string | readonly string[]): string[] {
  return typeof given === 'string' ? given.split(',').map((one) => one.trim()) : [...given];
}

const NOT_A_SENDER = notA('a sender', 'Write name@example.com or Some Name <name@example.com>.');

/** `name@example.com` or `Some Name <name@example.com>`. */
export const sender = z.string({ error: NOT_A_SENDER }).refine(
  (given) => {
    const [, name = '', address = given] = /^([^<>]*)<([^<>]*)>$/.exec(given) ?? [];
    return MAILBOX.test(address) && !/[\p{Cc}",;:@]/u.test(name);
  },
  { error: NOT_A_SENDER },
);

const NOT_A_ROOM = notA('a room', 'Write !id:server or #alias:server.');
const NOT_AN_EVENT = notA('an event id', 'Write one that starts with $.');

/** The id or an alias of a Matrix room. Newer ids have no server part. */
export const matrixRoom = z
  .string({ error: NOT_A_ROOM })
  .max(255)
  .regex(/^(![^\s]+|#[^\s:]+:[^\s]+)$/, { error: NOT_A_ROOM });
export const matrixEvent = z
  .string({ error: NOT_AN_EVENT })
  .max(255)
  .regex(/^\$[^\s]+$/, { error: NOT_AN_EVENT });

const NOT_A_MATTERMOST_ID = notA(
  'an id of Mattermost',
  'Copy the 26 letters and digits from View Info in the menu of the channel.',
);

/** 26 letters and digits. */
export const mattermostId = z
  .string({ error: NOT_A_MATTERMOST_ID })
  .regex(/^[a-z0-9]{26}$/, { error: NOT_A_MATTERMOST_ID });

/** The id, or the @name of a public channel or group. */
export const telegramChat = text.pipe(
  z.string().regex(/^[^\s\p{Cc}]{1,128}$/u, 'this is not a chat of Telegram. Write its number or @name.'),
);
export const telegramThread = text.pipe(
  z.string().regex(/^[1-9][0-9]{0,9}$/, 'this is not the number of a topic. Write a number such as 17.'),
);

const NOT_A_SLACK_CHANNEL = notA('a channel of Slack', 'Write its id (C0123456789) or #name.');
const NOT_A_SLACK_THREAD = notA('the ts of a message', 'Write it in quotes, such as "1405894322.002768".');

/** The id, or a name as `chat.postMessage` takes it. */
export const slackChannel = z
  .string({ error: NOT_A_SLACK_CHANNEL })
  .regex(/^[#@]?[\p{L}\p{N}._-]{1,80}$/u, { error: NOT_A_SLACK_CHANNEL });
/** A string, because a number would lose the zeros at its end. */
export const slackThread = z
  .string({ error: NOT_A_SLACK_THREAD })
  .regex(/^[0-9]{1,12}\.[0-9]{1,9}$/, { error: NOT_A_SLACK_THREAD });

const NOT_A_DISCORD_ID = notA(
  'an id of Discord',
  'Copy the digits with Copy Channel ID (developer mode), and put them in quotes.',
);

/** A string of digits: a number of this size is rounded when YAML or JSON is read. */
export const discordId = z
  .union([z.string(), z.int()], { error: NOT_A_DISCORD_ID })
  .transform(String)
  .pipe(z.string().regex(/^[0-9]{1,20}$/, { error: NOT_A_DISCORD_ID }));
