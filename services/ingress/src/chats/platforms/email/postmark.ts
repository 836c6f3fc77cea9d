import { hash, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { headerOf, type SignedRequest } from '../../../webhooks/authenticate/scheme.ts';
import type { InboundMail, MailFile } from './inbound-mail.ts';

/**
 * The inbound webhook of Postmark posts each mail as JSON. It has no signature: the address of the webhook holds a user and a
 * password (https://postmarkapp.com/developer/webhooks/inbound-webhook).
 */

const MOST_FILES = 20;

const inbound = z.object({
  FromFull: z.object({ Email: z.string(), Name: z.string().default('') }),
  Subject: z.string().default(''),
  Date: z.string().default(''),
  TextBody: z.string().default(''),
  HtmlBody: z.string().default(''),
  Headers: z.array(z.object({ Name: z.string(), Value: z.string() })),
  Attachments: z
    .array(z.object({ Name: z.string(), Content: z.string(), ContentType: z.string().optional() }))
    .default([]),
});

export function verifyPostmark({ headers }: SignedRequest, user: string, password: string): boolean {
  const given = /^basic\s+([A-Za-z0-9+/=]+)$/i.exec(headerOf(headers, 'authorization') ?? '')?.[1];
  if (given === undefined) return false;
  const expected = Buffer.from(`${user}:${password}`).toString('base64');
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', expected, 'buffer'));
}

/** Null: not a mail of Postmark. */
export function postmarkMail(body: unknown, receivedAtMs: number): InboundMail | null {
  const parsed = inbound.safeParse(body);
  if (!parsed.success) return null;
  const { FromFull: from, Subject, Date: date, TextBody, HtmlBody, Headers, Attachments } = parsed.data;
  return {
    headers: [
      // These have fields of their own and are not in the list.
      { key: 'from', value: `"${from.Name.replaceAll(/["\\\r\n]/g, ' ')}" <${from.Email}>` },
      { key: 'subject', value: Subject },
      { key: 'date', value: date },
      ...Headers.map(({ Name, Value }) => ({ key: Name.toLowerCase(), value: Value })).filter(
        ({ key }) => key !== 'from' && key !== 'subject' && key !== 'date',
      ),
    ],
    text: TextBody,
    html: HtmlBody,
    files: Attachments.slice(0, MOST_FILES).map(({ Name, Content, ContentType }): MailFile => {
      const content = Buffer.from(Content, 'base64');
      return {
        name: Name,
        mimeType: ContentType ?? null,
        bytes: content.length,
        content: new Uint8Array(content),
      };
    }),
    receivedAtMs,
  };
}
