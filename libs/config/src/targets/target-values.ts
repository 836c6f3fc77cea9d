import { z } from 'zod';

/** What values in a target's options and addresses are made of. */

/** Names and ids are often numbers in YAML and in payloads. */
export const text = z
  .union([z.string(), z.number()], { error: 'a text is wanted' })
  .transform(String)
  .pipe(z.string().min(1, 'is empty'));

export const credential = z.string({ error: 'is needed' }).min(1, 'is empty');

/** Where a platform's API is; without a slash at its end. */
export const apiBase = z
  .url({ protocol: /^https?$/, error: 'an http or https URL is wanted' })
  .refine(
    (url) => new URL(url).username === '' && new URL(url).password === '',
    'user and password are not sent',
  )
  .transform((url) => url.replace(/\/+$/, ''));

/** `owner/name`: no dots alone, which would lead elsewhere in the API's path. Owners that a company manages have a `_`. */
export const repository = z
  .string({ error: 'a repository is wanted: owner/name' })
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]*\/(?!\.{1,2}$)[A-Za-z0-9._-]+$/, 'a repository is wanted: owner/name');

export const issueNumber = text.pipe(
  z.string().regex(/^[1-9][0-9]{0,9}$/, 'the number of an issue is wanted'),
);

/** One address, no name, no comment: what stands in a header and an envelope must be what was checked. */
const MAILBOX =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*$/;
/** A payload may name those who get a mail: not the whole company. */
const MOST_MAILBOXES = 20;

/** A list, or a text with commas. */
export const mailboxes = z
  .union([z.string(), z.array(z.string())], { error: 'mail addresses are wanted' })
  .superRefine((given, context) => {
    const list = listOf(given);
    const refuse = (message: string, path: number[] = []) =>
      context.addIssue({ code: 'custom', path, message });
    if (list.length === 0) refuse('is empty');
    if (list.length > MOST_MAILBOXES) refuse(`at most ${MOST_MAILBOXES} mail addresses`);
    list.forEach((one, index) => {
      if (!MAILBOX.test(one))
        refuse('is no mail address: name@example.com', Array.isArray(given) ? [index] : []);
    });
  })
  .transform(listOf);

function listOf(given: string | readonly string[]): string[] {
  return typeof given === 'string' ? given.split(',').map((one) => one.trim()) : [...given];
}

/** `name@example.com` or `Some Name <name@example.com>`. */
export const sender = z.string({ error: 'a mail address is wanted' }).refine((given) => {
  const [, name = '', address = given] = /^([^<>]*)<([^<>]*)>$/.exec(given) ?? [];
  return MAILBOX.test(address) && !/[\p{Cc}",;:@]/u.test(name);
}, 'is no sender: name@example.com or Some Name <name@example.com>');

/** An id, or an alias, of a Matrix room. Newer ids have no server part. */
export const matrixRoom = z
  .string({ error: 'a room is wanted' })
  .max(255)
  .regex(/^(![^\s]+|#[^\s:]+:[^\s]+)$/, 'is no room: !id:server or #alias:server');
export const matrixEvent = z
  .string({ error: 'an event id is wanted' })
  .max(255)
  .regex(/^\$[^\s]+$/, 'is no event id: it begins with $');

/** 26 letters and digits. */
export const mattermostId = z
  .string({ error: 'an id is wanted' })
  .regex(
    /^[a-z0-9]{26}$/,
    'is no id of Mattermost: 26 letters and digits (View Info, in the menu of a channel)',
  );

/** An id, or the @name of a public channel or group. */
export const telegramChat = text.pipe(
  z.string().regex(/^[^\s\p{Cc}]{1,128}$/u, 'is no chat of Telegram: its number, or @name'),
);
export const telegramThread = text.pipe(
  z.string().regex(/^[1-9][0-9]{0,9}$/, 'the number of a topic is wanted'),
);

/** An id, or a name as `chat.postMessage` takes it. */
export const slackChannel = z
  .string({ error: 'a channel is wanted' })
  .regex(/^[#@]?[\p{L}\p{N}._-]{1,80}$/u, 'is no channel of Slack: its id (C0123456789), or #name');
/** As a number it would lose the zeros at its end. */
export const slackThread = z
  .string({ error: 'the ts of a message is wanted, in quotes' })
  .regex(/^[0-9]{1,12}\.[0-9]{1,9}$/, 'is no ts of a message: 1405894322.002768');

/** Numbers of this size are rounded when they are read as such. */
export const discordId = z
  .union([z.string(), z.int()], { error: 'an id is wanted, in quotes' })
  .transform(String)
  .pipe(
    z.string().regex(/^[0-9]{1,20}$/, 'is no id of Discord: digits (Copy Channel ID, in developer mode)'),
  );
