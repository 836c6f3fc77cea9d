import { eventually, type SmtpStandIn, selfSigned, startSmtp } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { OutputMessage, SendRequest, Target } from '../target.ts';
import { outputMessage, requestsFor, windowOf } from '../testing/contract.ts';
import { emailTarget } from './email.ts';

const PASSWORD = 'smtp-secret';
let smtp: SmtpStandIn;
let target: Target;
const started: SmtpStandIn[] = [];

beforeEach(async () => {
  smtp = await startSmtp({ user: 'bot', password: PASSWORD, ...selfSigned });
  started.push(smtp);
  target = emailTarget({ ca: selfSigned.cert });
});

afterEach(async () => {
  await target.close();
  for (const server of started.splice(0)) await server.stop();
});

function request(message: string | OutputMessage, to = {}, settings = {}): SendRequest {
  const all = {
    host: 'localhost',
    port: smtp.port,
    security: 'starttls',
    user: 'bot',
    password: PASSWORD,
    from: 'Angelia <bot@example.com>',
    ...settings,
  };
  const [first] = requestsFor(
    { target, settings: all, to: { to: ['a@example.com'], ...to } },
    typeof message === 'string' ? outputMessage(message) : message,
  );
  if (first === undefined) throw new Error('no chunk');
  return first;
}

const headers = (index = 0) =>
  Object.fromEntries((smtp.mails[index]?.mail.headers ?? []).map(({ key, value }) => [key, value]));

describe('a mail', () => {
  it('has a text and an HTML form, in which no text becomes markup', async () => {
    await target.send(request('Done: **all**\n\n<script>alert(1)</script>\n\n.\n\n..leading dots'));
    const { mail, from, to } = smtp.mails[0] ?? {};
    expect([from, to]).toEqual(['bot@example.com', ['a@example.com']]);
    expect(mail?.from).toMatchObject({ name: 'Angelia', address: 'bot@example.com' });
    expect(mail?.text).toBe('Done: all\n\n<script>alert(1)</script>\n\n.\n\n..leading dots\n');
    expect(mail?.html).toContain('<p dir="auto">Done: <strong>all</strong></p>');
    expect(mail?.html).not.toContain('<script');
    expect(mail?.attachments).toEqual([]);
  });

  it('brings a file as an attachment, byte by byte, in the same conversation, under an id of its own', async () => {
    const bytes = Buffer.from([0, 1, 2, 13, 10, 46, 13, 10, 255, 254]);
    const file = { name: 'Größe, "2" <b>.bin', type: 'application/octet-stream', bytes };
    const sent = request('unused', { in_reply_to: '<q@example.com>', thread: '<root@example.com>' });
    const result = await target.sendFile?.(sent, file);
    expect(result).toEqual({ kind: 'taken', receipt: `<angelia.${sent.secretKey}@example.com>` });
    const { mail } = smtp.mails[0] ?? {};
    expect(mail?.attachments).toMatchObject([
      { filename: file.name, mimeType: 'application/octet-stream', disposition: 'attachment' },
    ]);
    expect(Buffer.from(mail?.attachments[0]?.content as ArrayBuffer)).toEqual(bytes);
    expect(mail?.text?.trim()).toBe(file.name);
    expect(mail?.html).toContain('Größe, &quot;2&quot; &lt;b&gt;.bin');
    expect(mail?.inReplyTo).toBe('<q@example.com>');
    await target.sendFile?.({ ...sent, window: windowOf(), markDuplicate: true }, file);
    expect(smtp.mails[1]?.mail.text).toMatch(/^\(possible duplicate\)/);
    expect(smtp.mails[1]?.mail.messageId).toBe(mail?.messageId);
  });

  it('has the same Message-ID on every attempt', async () => {
    const sent = request('once');
    await target.send(sent);
    await target.send({ ...sent, window: windowOf(), markDuplicate: true });
    await target.send(request('the next'));
    const ids = smtp.mails.map(({ mail }) => mail.messageId);
    expect(ids[0]).toBe(`<angelia.${sent.secretKey}@example.com>`);
    // Who knows the session must not know it: whoever replies to it speaks to the session.
    expect(smtp.mails[0]?.raw).not.toContain(sent.message.sessionId);
    expect(ids[1]).toBe(ids[0]);
    expect(ids[2]).not.toBe(ids[0]);
    expect(headers(0)['auto-submitted']).toBe('auto-generated');
    expect(smtp.mails[1]?.mail.text).toMatch(/^\(possible duplicate\)\n\nonce/);
  });

  it('refers to the first and the last mail of its conversation, and to none if it is the first', async () => {
    const receipts: string[] = [];
    smtp.refuseRecipient('gone@example.com', 550, 'No such user');
    for (const text of ['first', 'second', 'third', 'fourth']) {
      const sent = request(text, { to: ['a@example.com', 'gone@example.com'] });
      const result = await target.send({ ...sent, earlier: [...receipts] });
      if (result.kind === 'taken' && result.receipt !== null) receipts.push(result.receipt);
    }
    const ids = smtp.mails.map(({ mail }) => mail.messageId);
    expect(new Set(ids).size).toBe(4);
    expect(smtp.mails.map((_, index) => [headers(index)['in-reply-to'], headers(index).references])).toEqual([
      [undefined, undefined],
      [ids[0], ids[0]],
      [ids[1], `${ids[0]} ${ids[1]}`],
      [ids[2], `${ids[0]} ${ids[2]}`],
    ]);
  });

  it('has one line of subject, whatever the payload contains', async () => {
    const title = 'Hello\r\nBcc: victim@example.com\r\n\r\nforged body';
    await target.send(request(outputMessage('the body', { title })));
    await target.send(request('the body', { subject: 'One\nX-Forged: yes' }));
    expect(smtp.mails.map(({ mail }) => mail.subject)).toEqual([
      'Hello Bcc: victim@example.com forged body',
      'One X-Forged: yes',
    ]);
    for (const index of [0, 1]) {
      expect(headers(index).bcc).toBeUndefined();
      expect(headers(index)['x-forged']).toBeUndefined();
      expect(smtp.mails[index]?.to).toEqual(['a@example.com']);
      expect(smtp.mails[index]?.mail.text?.trim()).toBe('the body');
    }
  });

  it('goes to all recipients that the server accepts, and the receipt names the others', async () => {
    smtp.refuseRecipient('gone@example.com', 550, '5.1.1 No such user');
    const to = { to: ['a@example.com', 'gone@example.com'], cc: ['c@example.com'] };
    const sent = request('x', to);
    expect(await target.send(sent)).toEqual({
      kind: 'taken',
      receipt: `<angelia.${sent.secretKey}@example.com>; refused for gone@example.com: 550 5.1.1 No such user`,
    });
    expect(smtp.mails[0]?.to).toEqual(['a@example.com', 'c@example.com']);
    expect(smtp.mails[0]?.mail.cc).toMatchObject([{ address: 'c@example.com' }]);
  });
});

describe('an answer of the server', () => {
  it('that refuses all recipients is retried if one of the refusals is temporary', async () => {
    smtp.refuseRecipient('gone@example.com', 550, '5.1.1 No such user');
    smtp.refuseRecipient('full@example.com', 452, '4.2.2 Mailbox full');
    expect(await target.send(request('x', { to: ['gone@example.com', 'full@example.com'] }))).toMatchObject({
      kind: 'retryable',
    });
    expect(await target.send(request('x', { to: ['gone@example.com'] }))).toEqual({
      kind: 'permanent',
      reason: `smtp localhost:${smtp.port}: 550 5.1.1 No such user`,
    });
  });

  it('that refuses is taken politely: the connection ends with QUIT', async () => {
    smtp.refuseRecipient('gone@example.com', 550, '5.1.1 No such user');
    await target.send(request('x', { to: ['gone@example.com'] }));
    smtp.next({ kind: 'refuse', at: 'MAIL', code: 451, text: 'no' });
    await target.send(request('x'));
    smtp.next({ kind: 'refuse', at: 'AUTH', code: 535, text: 'no' });
    await target.send(request('x'));
    await target.send(request('x'));
    await eventually(() => smtp.conversations.length === 4);
    expect(smtp.conversations.map((commands) => commands.at(-1))).toEqual(['QUIT', 'QUIT', 'QUIT', 'QUIT']);
    expect(smtp.mails).toHaveLength(1);
  });

  it.each([
    [451, 'retryable'],
    [552, 'permanent'],
  ])('%d after the text is %s', async (code, kind) => {
    smtp.next({ kind: 'refuse', at: 'DATA', code, text: 'no' });
    expect(await target.send(request('x'))).toMatchObject({ kind });
    expect(smtp.mails).toEqual([]);
  });
});

describe('the connection', () => {
  it('is not used without TLS if the config asks for TLS: no password and no text goes out', async () => {
    const open = await startSmtp({ user: 'bot', password: PASSWORD, tls: 'none' });
    started.push(open);
    const result = await target.send(request('x', {}, { port: open.port }));
    expect(result).toMatchObject({ kind: 'retryable' });
    expect(open.received).toEqual([]);
    expect(open.logins).toEqual([]);
  });

  it('is not used with an untrusted certificate', async () => {
    const strict = emailTarget();
    expect(await strict.send(request('x'))).toMatchObject({ kind: 'retryable' });
    expect(smtp.received).toEqual([]);
    expect(smtp.logins).toEqual([]);
    await strict.close();
  });

  it('may be TLS from the start, or unencrypted if the config says so', async () => {
    const tls = await startSmtp({ user: 'bot', password: PASSWORD, tls: 'tls', ...selfSigned });
    const open = await startSmtp({ tls: 'none' });
    started.push(tls, open);
    expect(await target.send(request('x', {}, { port: tls.port, security: 'tls' }))).toMatchObject({
      kind: 'taken',
    });
    expect(tls.mails[0]?.secure).toBe(true);
    const nobody = { port: open.port, security: 'none', user: undefined, password: undefined };
    expect(await target.send(request('x', {}, nobody))).toMatchObject({ kind: 'taken' });
  });
});

it('an answer to a mail joins its thread, and is found by its Message-ID', async () => {
  const to = {
    to: ['Jane@People.test'],
    subject: 'Re: x',
    in_reply_to: '<m2@p.test>',
    thread: '<m1@p.test>',
  };
  const sent = request('the answer', to);
  const result = await target.send(sent);
  const next = request('another', to);
  const receipt = result.kind === 'taken' ? (result.receipt ?? '') : '';
  await target.send({ ...next, earlier: [receipt] });
  expect([0, 1].map((index) => [headers(index)['in-reply-to'], headers(index).references])).toEqual([
    ['<m2@p.test>', '<m1@p.test> <m2@p.test>'],
    [receipt, `<m1@p.test> ${receipt}`],
  ]);
  expect(target.placeOf?.(receipt, sent.address)).toEqual({
    platform: 'email',
    chat: 'jane@people.test',
    thread: '<m1@p.test>',
    message: receipt,
  });
  const plain = { ...sent.address, to: { to: ['a@example.com'] } };
  expect(target.placeOf?.(`${receipt}; refused for b@c.d: 550`, plain)).toMatchObject({ thread: receipt });
});
