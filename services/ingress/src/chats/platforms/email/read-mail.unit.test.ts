import { describe, expect, it } from '@jest/globals';
import type { PlatformSettings } from '../../platform.ts';
import { parseMime } from './parse-mime.ts';
import { readMail } from './read-mail.ts';

const settings: PlatformSettings = {
  chat: { authserv_id: 'mx.test', speakers: { unauthenticated: false } },
  target: { from: 'Angelia <bot@example.com>' },
};
const NOW = Date.parse('2026-11-18T20:00:00Z');

const HEADERS = {
  'Authentication-Results': 'mx.test; dmarc=pass header.from=people.test',
  From: 'Jane Doe <Jane@People.test>',
  To: 'bot@example.com',
  Subject: 'Re: Deploy',
  Date: 'Wed, 18 Nov 2026 19:59:00 +0000',
  'Message-ID': '<m1@people.test>',
  'In-Reply-To': '<s.3@example.com>',
  References: '<s.1@example.com> <s.3@example.com>',
};

async function read(
  body: string,
  headers: Readonly<Record<string, string | null>> = {},
  given: PlatformSettings = settings,
) {
  const all = Object.entries({ ...HEADERS, ...headers }).filter(([, value]) => value !== null);
  const raw = `${all.map(([name, value]) => `${name}: ${value}`).join('\r\n')}\r\n\r\n${body}`;
  return readMail(await parseMime(Buffer.from(raw), NOW, { cut: false }), given);
}

describe('a mail', () => {
  it('is a message of its sender, and names the mail that it replies to', async () => {
    expect(await read('Go on.\n\nOn Wed, 18 Nov 2026, Bot wrote:\n> shall I?')).toEqual({
      kind: 'message',
      updateId: expect.stringMatching(/^mail:[0-9a-f]{64}$/),
      place: { platform: 'email', chat: 'jane@people.test', thread: '<s.1@example.com>' },
      from: { id: 'jane@people.test', name: 'Jane Doe', bot: false },
      message: '<m1@people.test>',
      replyTo: '<s.3@example.com>',
      text: 'Go on.',
      direct: true,
      mentioned: true,
      command: null,
      forwarded: false,
      files: [],
      answerTo: {
        to: ['jane@people.test'],
        subject: 'Re: Deploy',
        in_reply_to: '<m1@people.test>',
        thread: '<s.1@example.com>',
      },
    });
  });

  it('that replies to nothing says its subject, too', async () => {
    const update = await read('to production', {
      Subject: '=?utf-8?q?D=C3=A9ploy?=',
      'In-Reply-To': null,
      References: null,
    });
    expect(update).toMatchObject({
      text: 'Déploy\n\nto production',
      replyTo: null,
      place: { thread: '<m1@people.test>' },
      answerTo: { subject: 'Re: Déploy' },
    });
  });

  it('whose first line is a command is one, and a forwarded one is not', async () => {
    expect(await read('/deny too late\n\n-- \nJane')).toMatchObject({
      command: { name: 'deny', rest: 'too late' },
    });
    expect(await read('> /stop\n\nno')).toMatchObject({ command: null, text: 'no' });
    expect(await read('/stop', { Subject: 'Fwd: x' })).toMatchObject({ command: null, forwarded: true });
  });

  it('with only HTML is read as text, and its files are kept', async () => {
    const body = [
      '--b\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>Look &amp; see</p>',
      '--b\r\nContent-Type: image/png; name="a.png"\r\nContent-Disposition: attachment; filename="a.png"\r\nContent-Transfer-Encoding: base64\r\n\r\niVBORw0KGgo=',
      '--b--\r\n',
    ].join('\r\n');
    const update = await read(body, { 'Content-Type': 'multipart/mixed; boundary=b' });
    expect(update).toMatchObject({
      text: 'Look & see',
      files: [{ name: 'a.png', mimeType: 'image/png', bytes: 8 }],
    });
  });

  it('that comes twice is the same update, whatever its number in the mailbox', async () => {
    const [first, second] = [await read('a'), await read('a')];
    expect(first.updateId).toBe(second.updateId);
    expect((await read('a', { 'Message-ID': '<m2@people.test>' })).updateId).not.toBe(first.updateId);
  });
});

describe('a mail starts nothing if it', () => {
  const FROM = { 'Authentication-Results': null };
  it.each<[string, Record<string, string | null>]>([
    ['is not authenticated', FROM],
    ['is authenticated as somebody else', { From: 'ceo@victim.test' }],
    [
      'was authenticated by somebody else',
      { 'Authentication-Results': 'evil.test; dmarc=pass header.from=people.test' },
    ],
    ['has two senders', { From: 'jane@people.test, ceo@victim.test' }],
    ['has no sender', { From: null }],
    ['has no Message-ID', { 'Message-ID': null }],
    ['is an out-of-office reply', { 'Auto-Submitted': 'auto-replied' }],
    ['is generated', { 'Auto-Submitted': 'auto-generated' }],
    ['is bulk mail', { Precedence: 'bulk' }],
    ['comes from a list', { 'List-Id': '<list.people.test>' }],
    ['wants no automatic replies', { 'X-Auto-Response-Suppress': 'All' }],
    ['is a bounce', { 'Return-Path': '<>' }],
    ['is a report', { 'Content-Type': 'multipart/report; boundary=b' }],
    ['comes from a program', { From: 'MAILER-DAEMON@people.test' }],
    ['took a week to arrive', { Date: 'Wed, 11 Nov 2026 19:59:00 +0000' }],
    ['has no date', { Date: null }],
  ])('%s', async (_, headers) => {
    expect(await read('do it', headers)).toMatchObject({ kind: 'other' });
  });

  it('is our own', async () => {
    const own = {
      From: 'bot@example.com',
      'Authentication-Results': 'mx.test; dmarc=pass header.from=example.com',
    };
    expect(await read('do it', own)).toMatchObject({ kind: 'other', why: 'our own mail' });
  });

  it('has the header of our server only below another one', async () => {
    const forged =
      'mx.test; dmarc=fail header.from=people.test\r\nAuthentication-Results: mx.test; dmarc=pass header.from=people.test';
    expect(await read('do it', { 'Authentication-Results': forged })).toMatchObject({ kind: 'other' });
  });

  it('says nothing itself', async () => {
    expect(await read('> quoted\n\n-- \nJane')).toMatchObject({ kind: 'other' });
  });
});

it('a sender is believed without that only if the config says so', async () => {
  const trusting = { ...settings, chat: { speakers: { unauthenticated: true } } };
  expect(await read('a', { 'Authentication-Results': null }, trusting)).toMatchObject({ kind: 'message' });
});
