import { createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { SignedRequest } from '../../../webhooks/authenticate/scheme.ts';
import type { PlatformSettings } from '../../platform.ts';
import { email } from './email.ts';

const NOW = Date.parse('2026-11-18T20:00:00Z');
const HEADERS: [string, string][] = [
  ['Authentication-Results', 'mxa.mailgun.org; dkim=pass header.d=people.test'],
  ['From', 'Jane <jane@people.test>'],
  ['Subject', 'Re: Deploy'],
  ['Date', 'Wed, 18 Nov 2026 19:59:00 +0000'],
  ['Message-ID', '<m1@people.test>'],
  ['In-Reply-To', '<s.3@example.com>'],
];

function settings(provider: Record<string, unknown>): PlatformSettings {
  return {
    chat: { provider, authserv_id: 'mxa.mailgun.org', speakers: {} },
    target: { from: 'bot@example.com' },
  };
}

function request(headers: Record<string, string>, body: string): SignedRequest {
  return { headers, body: Buffer.from(body), nowMs: NOW, publicUrl: null };
}

function take(given: SignedRequest, of: PlatformSettings) {
  const { webhook } = email;
  if (webhook === undefined || !webhook.verify(given, of)) return 'refused';
  return webhook.read(webhook.parse?.(given), given, of)[0];
}

describe('a mail that Mailgun posts', () => {
  const of = settings({ name: 'mailgun', signing_key: 'key-of-mailgun' });
  function form(change: Record<string, string> = {}): Record<string, string> {
    const timestamp = String(NOW / 1000);
    const token = 'a'.repeat(50);
    return {
      recipient: 'bot@example.com',
      timestamp,
      token,
      signature: createHmac('sha256', 'key-of-mailgun')
        .update(timestamp + token)
        .digest('hex'),
      'message-headers': JSON.stringify(HEADERS),
      'body-plain': 'Go on.\n\n> old',
      ...change,
    };
  }
  const encoded = (change?: Record<string, string>) =>
    request(
      { 'content-type': 'application/x-www-form-urlencoded' },
      String(new URLSearchParams(form(change))),
    );

  it('is taken if it is signed', () => {
    expect(take(encoded(), of)).toMatchObject({
      kind: 'message',
      text: 'Go on.',
      replyTo: '<s.3@example.com>',
    });
  });

  it('has its files in a multipart form', () => {
    const parts = Object.entries(form()).map(
      ([name, value]) => `--XX\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
    );
    const file =
      '--XX\r\nContent-Disposition: form-data; name="attachment-1"; filename="a \\"b\\".txt"\r\nContent-Type: text/plain\r\n\r\nline\r\n--X\r\n';
    const body = `${parts.join('')}${file}--XX--\r\n`;
    const update = take(request({ 'content-type': 'multipart/form-data; boundary="XX"' }, body), of);
    expect(update).toMatchObject({
      kind: 'message',
      files: [
        { name: 'a "b".txt', mimeType: 'text/plain', content: new Uint8Array(Buffer.from('line\r\n--X')) },
      ],
    });
  });

  it.each<Record<string, string>>([
    { signature: 'f'.repeat(64) },
    { token: 'b'.repeat(50) },
    { timestamp: String(NOW / 1000 - 10 * 3_600) },
    { timestamp: 'NaN' },
    { signature: '' },
  ])('is refused if it is forged or old: %j', (change) => {
    expect(take(encoded(change), of)).toBe('refused');
  });

  it('without headers, or as something else than a form, is no mail', () => {
    expect(take(encoded({ 'message-headers': '{' }), of)).toMatchObject({ kind: 'other' });
    expect(take(request({ 'content-type': 'multipart/form-data; boundary=XX' }, 'nonsense'), of)).toBe(
      'refused',
    );
    expect(take(request({ 'content-type': 'application/json' }, '{}'), of)).toBe('refused');
  });
});

describe('a mail that Postmark posts', () => {
  const of = settings({ name: 'postmark', user: 'u', password: 'long-password' });
  const authorization = (user: string) => `Basic ${Buffer.from(`${user}:long-password`).toString('base64')}`;
  const mail = {
    FromFull: { Email: 'jane@people.test', Name: 'Jane "J" Doe', MailboxHash: '' },
    Subject: 'Re: Deploy',
    Date: 'Wed, 18 Nov 2026 19:59:00 +0000',
    TextBody: 'Go on.',
    HtmlBody: '',
    Headers: HEADERS.filter(([Name]) => Name !== 'From').map(([Name, Value]) => ({ Name, Value })),
    Attachments: [{ Name: 'a.txt', Content: 'aGk=', ContentType: 'text/plain', ContentLength: 2 }],
  };
  const posted = (user: string, body: unknown = mail) =>
    request({ 'content-type': 'application/json', authorization: authorization(user) }, JSON.stringify(body));

  it('is taken if it has the password', () => {
    expect(take(posted('u'), of)).toMatchObject({
      kind: 'message',
      from: { id: 'jane@people.test' },
      text: 'Go on.',
      files: [{ name: 'a.txt', bytes: 2 }],
    });
    expect(take(posted('x'), of)).toBe('refused');
    expect(take(request({ 'content-type': 'application/json' }, '{}'), of)).toBe('refused');
  });

  it('of an unknown shape is no mail', () => {
    expect(take(posted('u', { RecordType: 'Bounce' }), of)).toMatchObject({ kind: 'other' });
  });
});
