import { createHash } from 'node:crypto';
import { addressParser, decodeWords } from 'postal-mime';
import type { ChatFile, ChatUpdate, PlatformSettings } from '../../platform.ts';
import { commandIn } from '../first-line.ts';
import { isVouchedFor } from './authentication-results.ts';
import { htmlToText } from './html-text.ts';
import { headerNamed, headersNamed, type InboundMail } from './inbound-mail.ts';
import { replyText } from './reply-text.ts';

/**
 * A mail as a message. Whoever runs a mail server can send a mail from any address, so a mail is taken only if our server
 * vouches for its sender; and mail programs answer by themselves, so whatever looks like such an answer starts nothing
 * (two programs would write to each other for ever).
 */
export function readMail(mail: InboundMail, settings: PlatformSettings): ChatUpdate {
  const id = messageIdsIn(headerNamed(mail, 'message-id'))[0];
  const from = senderOf(mail);
  if (id === undefined || from === null)
    return other('mail:unreadable', 'no single sender, or no Message-ID');
  // The id is chosen by the sender, so it names a mail of this sender only.
  const updateId = `mail:${hashed(from.address, id)}`;
  const why = notAnswered(mail, from.address, settings) ?? notBelieved(mail, from.address, settings);
  if (why !== null) return other(updateId, why);
  const references = messageIdsIn(headerNamed(mail, 'references'));
  const inReplyTo = messageIdsIn(headerNamed(mail, 'in-reply-to'))[0] ?? references.at(-1) ?? null;
  const root = references[0] ?? inReplyTo ?? id;
  const subject = oneLine(decodeWords(headerNamed(mail, 'subject') ?? ''));
  const forwarded = /^(?:fwd?|wg|tr|rv|doorst)\s*:/i.test(subject);
  const whole = mail.text?.trim() ? mail.text : htmlToText(mail.html ?? '');
  const own = forwarded ? whole.trim() : replyText(whole);
  // In a new mail the subject is a part of what is said.
  const text =
    inReplyTo === null && subject !== '' && !own.startsWith('/') ? `${subject}\n\n${own}`.trim() : own;
  const files = mail.files.map(fileOf);
  if (own === '' && (inReplyTo !== null || subject === '') && files.length === 0)
    return other(updateId, 'nothing to read');
  return {
    kind: 'message',
    updateId,
    place: { platform: 'email', chat: from.address, thread: root },
    from: { id: from.address, name: from.name || from.address, bot: false },
    message: id,
    replyTo: inReplyTo,
    text: text.slice(0, MOST_TEXT).toWellFormed(),
    direct: true,
    mentioned: true,
    command: forwarded ? null : commandIn(own),
    forwarded,
    files,
    answerTo: {
      to: [from.address],
      subject: /^re\s*:/i.test(subject) ? subject : `Re: ${subject}`.trim(),
      in_reply_to: id,
      thread: root,
    },
  };
}

/** A person writes less. What is longer is mostly a log that belongs into a file. */
const MOST_TEXT = 200_000;
/**
 * A taken mail is known for 7 days at least. A mail that took longer to reach our server was sent again by somebody who had
 * kept it.
 */
const LONGEST_WAY_MS = 6 * 24 * 3_600_000;

interface Sender {
  /** In lower case: no server in use distinguishes upper and lower case. */
  readonly address: string;
  readonly name: string;
}

const ADDRESS = /^[^\s@<>,;:"()[\]\\]{1,64}@[a-z0-9.-]{1,253}$/;

/** Null: there is not exactly one. A second `From` is a way to show people one sender and programs another. */
export function senderOf(mail: Pick<InboundMail, 'headers'>): Sender | null {
  const [header, ...more] = headersNamed(mail, 'from');
  if (header === undefined || more.length > 0) return null;
  const [first, ...others] = addressParser(header, { flatten: true }) as readonly {
    readonly address?: string;
    readonly name?: string;
  }[];
  const address = first?.address?.toLowerCase() ?? '';
  if (others.length > 0 || !ADDRESS.test(address)) return null;
  return { address, name: oneLine(first?.name ?? '') };
}

/** Why nobody expects an answer to this mail; null: somebody may. */
function notAnswered(mail: InboundMail, from: string, { target }: PlatformSettings): string | null {
  const ours = senderOf({ headers: [{ key: 'from', value: String(target.from ?? '') }] });
  if (from === ours?.address) return 'our own mail';
  const automatic = headerNamed(mail, 'auto-submitted')?.trim().toLowerCase();
  if (automatic !== undefined && !automatic.startsWith('no')) return 'an automatic reply';
  if (/^\s*(?:bulk|junk|list|auto_reply)\b/i.test(headerNamed(mail, 'precedence') ?? '')) return 'bulk mail';
  for (const name of ['list-id', 'list-unsubscribe']) {
    if (headerNamed(mail, name) !== null) return 'mail of a list';
  }
  for (const name of ['x-auto-response-suppress', 'x-autoreply', 'x-autorespond', 'x-failed-recipients']) {
    if (headerNamed(mail, name) !== null) return 'an automatic reply';
  }
  if (headerNamed(mail, 'return-path')?.trim() === '<>') return 'a bounce';
  if (/^\s*multipart\/report\b/i.test(headerNamed(mail, 'content-type') ?? '')) return 'a bounce';
  if (/^(?:mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?)(?:[+=-].*)?@/.test(from))
    return 'sent by a program';
  return null;
}

/** Why this mail is not trusted; null: our server vouches for the sender, or the config does not require that. */
function notBelieved(mail: InboundMail, from: string, { chat }: PlatformSettings): string | null {
  const sentAt = Date.parse(headerNamed(mail, 'date') ?? '');
  // A date that cannot be parsed counts as missing.
  if (!(sentAt >= mail.receivedAtMs - LONGEST_WAY_MS)) return 'too old, or without a date';
  if ((chat.speakers as { readonly unauthenticated?: boolean } | undefined)?.unauthenticated) return null;
  const domain = from.slice(from.lastIndexOf('@') + 1);
  const header = headerNamed(mail, 'authentication-results');
  return typeof chat.authserv_id === 'string' && isVouchedFor(header, chat.authserv_id, domain)
    ? null
    : 'the sender is not authenticated';
}

function fileOf(file: InboundMail['files'][number], index: number): ChatFile {
  const { name, mimeType, bytes, content } = file;
  return {
    id: String(index),
    name,
    mimeType,
    bytes,
    ...(content === null ? {} : { content }),
  };
}

/** With their brackets, as receipts of delivery have them. */
export function messageIdsIn(header: string | null): string[] {
  return [...(header ?? '').matchAll(/<[^<>\s]{1,500}>/g)].map(([id]) => id).slice(0, 50);
}

function oneLine(text: string): string {
  return text
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, 200)
    .toWellFormed();
}

function hashed(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

function other(updateId: string, why: string): ChatUpdate {
  return { kind: 'other', updateId, why };
}
