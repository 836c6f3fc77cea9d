import { createHmac, timingSafeEqual } from 'node:crypto';
import { headerOf, type SignedRequest } from '../../../webhooks/authenticate/scheme.ts';
import type { InboundMail, MailFile } from './inbound-mail.ts';
import { type FormPart, readForm } from './multipart-form.ts';

/**
 * Routes of Mailgun with the action `forward` post each mail as a form: multipart if it has files.
 * https://documentation.mailgun.com/docs/mailgun/user-manual/receive-forward-store/receive-http
 */

/**
 * Mailgun tries again for eight hours, and does not say whether with a new time. Until then nothing may be lost. A repeat is
 * recognised by the mail's own id.
 */
const LONGEST_WAY_SECONDS = 9 * 3_600;
const MOST_FILES = 20;

/**
 * The signature is in the form, and covers a time and a random token only. So this reads the form before it is verified: the
 * body is bounded, and each of its bytes is looked at once.
 */
export function verifyMailgun(request: SignedRequest, signingKey: string): boolean {
  const fields = formOf(request);
  const [timestamp, token, signature] = ['timestamp', 'token', 'signature'].map((name) =>
    fieldIn(fields, name),
  );
  if (!timestamp || !token || !/^[0-9a-f]{64}$/.test(signature ?? '')) return false;
  const ageSeconds = request.nowMs / 1000 - Number(timestamp);
  if (!(Math.abs(ageSeconds) <= LONGEST_WAY_SECONDS)) return false;
  const expected = createHmac('sha256', signingKey).update(timestamp).update(token).digest();
  return timingSafeEqual(Buffer.from(signature ?? '', 'hex'), expected);
}

export function formOf({ headers, body }: SignedRequest): readonly FormPart[] {
  const type = headerOf(headers, 'content-type') ?? '';
  if (!/^application\/x-www-form-urlencoded\b/i.test(type)) return readForm(type, body) ?? [];
  return [...new URLSearchParams(body.toString('utf8'))].map(([name, value]) => ({
    name,
    filename: null,
    type: null,
    content: Buffer.from(value),
  }));
}

/** "Cache the token value locally and not honor any subsequent request with the same token." A repeat of a mail may have it. */
export function mailgunToken(fields: readonly FormPart[]): string | null {
  return fieldIn(fields, 'token');
}

/** Null: not a mail that Mailgun has parsed. */
export function mailgunMail(fields: readonly FormPart[], receivedAtMs: number): InboundMail | null {
  const headers = headersIn(fieldIn(fields, 'message-headers'));
  if (headers === null) return null;
  return {
    headers,
    text: fieldIn(fields, 'body-plain'),
    html: fieldIn(fields, 'body-html'),
    files: fields
      .filter(({ name, filename }) => /^attachment-\d+$/.test(name) && filename !== null)
      .slice(0, MOST_FILES)
      .map(
        ({ filename, type, content }): MailFile => ({
          name: filename ?? 'file',
          mimeType: type,
          bytes: content.length,
          content: new Uint8Array(content),
        }),
      ),
    receivedAtMs,
  };
}

/** A list of pairs in JSON, in the order of the mail. */
function headersIn(json: string | null): InboundMail['headers'] | null {
  try {
    const list: unknown = JSON.parse(json ?? '');
    if (!Array.isArray(list)) return null;
    return list.flatMap((pair: unknown) =>
      Array.isArray(pair) && typeof pair[0] === 'string' && typeof pair[1] === 'string'
        ? [{ key: pair[0].toLowerCase(), value: pair[1] }]
        : [],
    );
  } catch {
    return null;
  }
}

function fieldIn(fields: readonly FormPart[], wanted: string): string | null {
  return (
    fields.find(({ name, filename }) => name === wanted && filename === null)?.content.toString('utf8') ??
    null
  );
}
