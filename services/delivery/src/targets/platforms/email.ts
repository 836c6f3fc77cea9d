import { Readable } from 'node:stream';
import MailComposer from 'nodemailer/lib/mail-composer';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { DUPLICATE_MARK } from '../../text/cut/chunk.ts';
import { renderChunks } from '../../text/cut/render-chunks.ts';
import { utf8Bytes } from '../../text/markup/markup.ts';
import { escapeHtml, joinLists, richHtml } from '../../text/markup/rich-html.ts';
import { inOneLine } from '../calls/api-answer.ts';
import type { OutboundFile, SendRequest, SendResult, Target, TargetSettings } from '../target.ts';

/**
 * Mail by SMTP (nodemailer), as plain text and HTML, one connection per mail. A resend has the same Message-ID, so many
 * mailboxes show it once. Others do not, so it is marked all the same.
 */

interface EmailSettings {
  readonly host: string;
  readonly port?: number;
  readonly security: 'starttls' | 'tls' | 'none';
  readonly user?: string;
  readonly password?: string;
  readonly from: string;
}

interface EmailAddress {
  readonly to: readonly string[];
  readonly cc?: readonly string[];
  readonly subject?: string;
  readonly in_reply_to?: string;
  readonly thread?: string;
}

/** Mail programs cut longer subjects anyway. */
const MAX_SUBJECT = 200;
/** At the beginning of a receipt: see `taken`. */
const MESSAGE_ID = /^<[^<>\s]+>/;
/** For nodemailer's own timeouts: longer than the usual send window. */
const IDLE_MS = 60_000;

export function emailTarget(options: { readonly ca?: string } = {}): Target {
  /** Closed when the service ends. */
  const open = new Set<SMTPConnection>();
  return {
    name: 'email',
    idempotent: false,
    conversationKeys: ['to', 'cc'],

    destination(_address, given) {
      const settings = settingsOf(given);
      return { name: `email ${settings.host}:${portOf(settings)}`, chat: null };
    },

    compose: ({ text }) =>
      // A mail has no length limit.
      renderChunks(text, richHtml, { limit: Number.POSITIVE_INFINITY, measure: utf8Bytes }).map((chunk) => ({
        ...chunk,
        text: joinLists(chunk.text),
      })),

    async send(request) {
      return post(open, options.ca, await mailOf(request, settingsOf(request.settings)), request);
    },

    /** A mail of its own in the conversation, so that the text neither waits for the file nor is refused with it. */
    async sendFile(request, file) {
      return post(open, options.ca, await mailOf(request, settingsOf(request.settings), file), request);
    },

    placeOf(receipt, address) {
      const message = MESSAGE_ID.exec(receipt)?.[0];
      const { to, thread } = address.to as unknown as EmailAddress;
      const [first] = to;
      if (message === undefined || first === undefined) return null;
      // Who replies to a mail with several recipients may be any of them: the Message-ID is enough to find it.
      return { platform: 'email', chat: first.toLowerCase(), thread: thread ?? message, message };
    },

    async close() {
      for (const connection of open) connection.close();
    },
  };
}

async function post(
  open: Set<SMTPConnection>,
  ca: string | undefined,
  mail: Mail,
  { settings: given, window }: SendRequest,
): Promise<SendResult> {
  const settings = settingsOf(given);
  const connection = new SMTPConnection({
    host: settings.host,
    port: portOf(settings),
    secure: settings.security === 'tls',
    requireTLS: settings.security === 'starttls',
    ignoreTLS: settings.security === 'none',
    // The window's signal ends the request. These only keep nodemailer's own timeouts from coming earlier.
    connectionTimeout: IDLE_MS,
    greetingTimeout: IDLE_MS,
    socketTimeout: IDLE_MS,
    logger: false,
    tls: ca === undefined ? {} : { ca },
  });
  open.add(connection);
  connection.once('end', () => open.delete(connection));
  const { result, answered } = await deliver(connection, mail, settings, window);
  // QUIT first: servers hold a dropped connection against the sender.
  if (answered) connection.quit();
  else connection.close();
  return result;
}

// The schema in libs/config/src/targets has checked these.
const settingsOf = (settings: TargetSettings) => settings as unknown as EmailSettings;
const addressOf = ({ address }: SendRequest) => address.to as unknown as EmailAddress;

function portOf({ port, security }: EmailSettings): number {
  return port ?? (security === 'tls' ? 465 : security === 'none' ? 25 : 587);
}

interface Mail {
  readonly id: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: Buffer;
}

/** With a file, its name is the text. */
async function mailOf(request: SendRequest, settings: EmailSettings, file?: OutboundFile): Promise<Mail> {
  const { message, chunk, secretKey } = request;
  const { to, cc = [], subject, in_reply_to: repliesTo, thread } = addressOf(request);
  const from = bareAddress(settings.from);
  const domain = from.slice(from.lastIndexOf('@') + 1);
  // Whoever knows it can reply to the mail.
  const id = `<angelia.${secretKey}@${domain}>`;
  // Mail programs show as one conversation what refers to the same mails. The first mail refers to none.
  const conversation = request.earlier.flatMap((receipt) => MESSAGE_ID.exec(receipt)?.[0] ?? []);
  const [first, last] = [thread ?? repliesTo ?? conversation.at(0), conversation.at(-1) ?? repliesTo];
  const mark = request.markDuplicate ? DUPLICATE_MARK.trim() : null;
  const plain = file?.name ?? chunk.plain ?? chunk.text;
  const html = file === undefined ? chunk.text : `<p>${escapeHtml(file.name)}</p>`;
  const raw = await new MailComposer({
    from: settings.from,
    to: [...to],
    cc: [...cc],
    subject: oneLine(subject ?? message.title) || 'Angelia',
    messageId: id,
    ...(first === undefined || last === undefined
      ? {}
      : { inReplyTo: last, references: [...new Set([first, last])] }),
    date: new Date(request.recordedAt),
    text: mark === null ? plain : `${mark}\n\n${plain}`,
    html: page(mark === null ? html : `<p>${escapeHtml(mark)}</p>\n${html}`),
    ...(file === undefined
      ? {}
      : {
          attachments: [{ filename: file.name, contentType: file.type, content: Buffer.from(file.bytes) }],
        }),
    // RFC 3834: no out-of-office replies.
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    disableFileAccess: true,
    disableUrlAccess: true,
  })
    .compile()
    .build();
  return { id, from, to: [...to, ...cc], raw };
}

/** The part in `<...>`, or all of it. */
function bareAddress(from: string): string {
  return /<([^<>]+)>\s*$/.exec(from)?.[1] ?? from;
}

/** A subject is one line, whatever the payload contains. */
function oneLine(text: string): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > MAX_SUBJECT ? `${line.slice(0, MAX_SUBJECT).toWellFormed().trimEnd()}…` : line;
}

/** `dir="auto"`: the first letter of each paragraph decides its direction. */
function page(html: string): string {
  const blocks = html.replaceAll(/<(p|li|h[1-6]|blockquote)>/g, '<$1 dir="auto">');
  return `<!DOCTYPE html><html><head><meta charset="utf-8"></head><body>\n${blocks}\n</body></html>`;
}

interface Delivered {
  readonly result: SendResult;
  /** The server answered every command so far, so it can also be told that we leave. */
  readonly answered: boolean;
}

/** Connects, logs in, sends. From the first byte of the mail's text on, the server may have taken it. */
function deliver(
  connection: SMTPConnection,
  mail: Mail,
  settings: EmailSettings,
  window: SendRequest['window'],
): Promise<Delivered> {
  const server = `smtp ${settings.host}:${portOf(settings)}`;
  let begun = false;
  return new Promise((resolve) => {
    const settle = (result: SendResult, answered = false) => {
      window.signal.removeEventListener('abort', onTimeout);
      resolve({ result, answered });
    };
    const fail = (error: SmtpError, isOpen: boolean) =>
      settle(failure(error, begun, server), isOpen && saidIn(error).length > 0);
    const onTimeout = () => {
      settle(
        begun
          ? { kind: 'unknown', reason: `no answer from ${server} in time` }
          : { kind: 'retryable', reason: `not sent: ${server} was not ready in time` },
      );
      connection.close();
    };
    if (window.signal.aborted) {
      settle({ kind: 'retryable', reason: 'not sent: the claim ran out of time' });
      return;
    }
    window.signal.addEventListener('abort', onTimeout, { once: true });
    connection.on('error', (error) => fail(error, false));
    // The server closed the connection between two commands, when no callback was pending.
    connection.on('end', () => fail(new Error('closed'), false));

    const send = () => {
      if (!window.mayBegin()) {
        settle({ kind: 'retryable', reason: 'not sent: the claim ran out of time' }, true);
        return;
      }
      const text = Readable.from(
        (function* () {
          begun = true;
          yield mail.raw;
        })(),
      );
      const envelope = { from: mail.from, to: [...mail.to], size: mail.raw.length };
      connection.send(envelope, text, (error, info) => {
        if (error) fail(error, true);
        else settle(taken(mail, info.rejectedErrors ?? []), true);
      });
    };
    connection.connect((error) => {
      if (error) return fail(error, false);
      if (settings.user === undefined) return send();
      const auth = { user: settings.user, pass: settings.password ?? '' };
      connection.login(auth, (refused) => (refused ? fail(refused, true) : send()));
    });
  });
}

interface SmtpError extends Error {
  readonly code?: string | undefined;
  readonly command?: string | undefined;
  readonly response?: string | undefined;
  readonly responseCode?: number | undefined;
  readonly recipient?: string | undefined;
  readonly rejectedErrors?: readonly SmtpError[] | undefined;
}

/** The mail is sent to the recipients that the server accepts. The receipt names the others. */
function taken(mail: Mail, refused: readonly SmtpError[]): SendResult {
  const names = refused.map(({ recipient, response }) => `${recipient}: ${inOneLine(response)}`);
  return {
    kind: 'taken',
    receipt: names.length === 0 ? mail.id : `${mail.id}; refused for ${names.join('; ')}`,
  };
}

/** By RFC 5321, 4xx is temporary and 5xx permanent. A 5xx about us (login, TLS) and not about the mail can be fixed, so it is retried. */
function failure(error: SmtpError, begun: boolean, server: string): SendResult {
  const said = saidIn(error);
  const [first] = said;
  if (first === undefined) {
    const how = error.code ?? error.name;
    return begun
      ? { kind: 'unknown', reason: `the connection to ${server} broke before the answer (${how})` }
      : { kind: 'retryable', reason: `not sent: ${server}: ${inOneLine(error.message)} (${how})` };
  }
  const reason = `${server}: ${inOneLine(first.response ?? first.message)}`;
  const aboutUs = error.code === 'EAUTH' || error.code === 'ETLS' || error.command === 'CONN';
  if (aboutUs || error.command === 'EHLO' || error.command === 'STARTTLS')
    return { kind: 'retryable', reason };
  const allForGood = said.every(({ responseCode = 0 }) => responseCode >= 500);
  return allForGood ? { kind: 'permanent', reason } : { kind: 'retryable', reason };
}

/** The refusals of the server. The error also holds the last answer before a connection broke, which was none. */
function saidIn(error: SmtpError): readonly SmtpError[] {
  return [error, ...(error.rejectedErrors ?? [])].filter(({ responseCode = 0 }) => responseCode >= 400);
}
