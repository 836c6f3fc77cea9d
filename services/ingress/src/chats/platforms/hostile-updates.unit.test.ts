import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { clickProof } from '@angelia/chats';
import { describe, expect, it } from '@jest/globals';
import { REPLAY_WINDOW_SECONDS } from '../../webhooks/authenticate/replay-window.ts';
import type { SignedRequest } from '../../webhooks/authenticate/scheme.ts';
import type { ChatPlatform, PlatformSettings } from '../platform.ts';
import { discord } from './discord/discord.ts';
import { email } from './email/email.ts';
import { github } from './github.ts';
import { mattermost } from './mattermost/mattermost.ts';
import { slack } from './slack/slack.ts';
import { telegram } from './telegram.ts';

const NOW = Date.parse('2026-11-18T20:00:00Z');
const SECRET = 'the-secret-that-is-configured';
const keys = generateKeyPairSync('ed25519');
const publicKey = keys.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex');

const hmac = (...parts: string[]) => createHmac('sha256', SECRET).update(parts.join('')).digest('hex');

interface Case {
  readonly platform: ChatPlatform;
  readonly settings: PlatformSettings;
  /** As the platform makes it. */
  signed(body: string, atSeconds: number): Record<string, string>;
  readonly body: string;
  /** The header that holds the proof. Left out: the body does. */
  readonly header?: string;
  /** It covers the body. */
  readonly coversBody?: true;
  /** It covers the time. Seconds that it may be old. */
  readonly window?: number;
}

const mailForm = (atSeconds: number, token: string) =>
  String(new URLSearchParams({ timestamp: `${atSeconds}`, token, signature: hmac(`${atSeconds}`, token) }));

const cases: Record<string, Case> = {
  telegram: {
    platform: telegram,
    settings: { chat: { webhook_secret: SECRET }, target: { bot_token: '1:x' } },
    signed: () => ({ 'x-telegram-bot-api-secret-token': SECRET }),
    body: '{"update_id":1}',
    header: 'x-telegram-bot-api-secret-token',
  },
  slack: {
    platform: slack,
    settings: { chat: { signing_secret: ['an-older-one', SECRET] }, target: {} },
    signed: (body, at) => ({
      'x-slack-request-timestamp': `${at}`,
      'x-slack-signature': `v0=${hmac('v0:', `${at}`, ':', body)}`,
    }),
    body: '{"type":"event_callback"}',
    header: 'x-slack-signature',
    coversBody: true,
    window: REPLAY_WINDOW_SECONDS,
  },
  discord: {
    platform: discord,
    settings: { chat: { public_key: publicKey }, target: {} },
    signed: (body, at) => ({
      'x-signature-timestamp': `${at}`,
      'x-signature-ed25519': sign(null, Buffer.from(`${at}${body}`), keys.privateKey).toString('hex'),
    }),
    body: '{"type":2}',
    header: 'x-signature-ed25519',
    coversBody: true,
    window: REPLAY_WINDOW_SECONDS,
  },
  github: {
    platform: github,
    settings: { chat: { webhook_secret: SECRET, bot_name: 'bot' }, target: {} },
    signed: (body) => ({ 'x-hub-signature-256': `sha256=${hmac(body)}` }),
    body: '{"action":"created"}',
    header: 'x-hub-signature-256',
    coversBody: true,
  },
  'a click in Mattermost': {
    platform: mattermost,
    settings: { chat: {}, target: { token: SECRET, api_base: 'http://x' } },
    signed: () => ({}),
    body: JSON.stringify({ context: { data: 'd', proof: clickProof(SECRET, 'd') } }),
  },
  'a command in Mattermost': {
    platform: mattermost,
    settings: { chat: { command_token: SECRET }, target: { token: 'x', api_base: 'http://x' } },
    signed: () => ({}),
    body: JSON.stringify({ command: '/x', token: SECRET }),
  },
  'a webhook of Mattermost': {
    platform: mattermost,
    settings: { chat: { outgoing_token: SECRET }, target: { token: 'x', api_base: 'http://x' } },
    signed: () => ({}),
    body: JSON.stringify({ token: SECRET }),
  },
  postmark: {
    platform: email,
    settings: { chat: { provider: { name: 'postmark', user: 'u', password: SECRET } }, target: {} },
    signed: () => ({ authorization: `Basic ${Buffer.from(`u:${SECRET}`).toString('base64')}` }),
    body: '{}',
    header: 'authorization',
  },
  mailgun: {
    platform: email,
    settings: { chat: { provider: { name: 'mailgun', signing_key: SECRET } }, target: {} },
    signed: () => ({ 'content-type': 'application/x-www-form-urlencoded' }),
    body: mailForm(NOW / 1000, 'a'.repeat(50)),
  },
};

function verifies(one: Case, headers: Record<string, string>, body = one.body): boolean | undefined {
  const all = { 'content-type': 'application/json', ...headers };
  const request: SignedRequest = { headers: all, body: Buffer.from(body), nowMs: NOW, publicUrl: null };
  return one.platform.webhook?.verify(request, one.settings);
}

/** The same length, another letter in it. */
const changed = (text: string, at = Math.floor(text.length / 2)) =>
  text.slice(0, at) + (text[at] === 'a' ? 'b' : 'a') + text.slice(at + 1);

describe.each(Object.entries(cases))('an update of %s', (_, one) => {
  const at = NOW / 1000;
  const good = one.signed(one.body, at);

  it('is believed with its proof', () => {
    expect(verifies(one, good)).toBe(true);
  });

  it('with a proof of the right length is not believed, nor with none, nor with letters that nobody expects', () => {
    const proofs = ['', 'ä', '\u202e', '\ud83d', ' '.repeat(64), '0'.repeat(64), 'ff'.repeat(64), '['];
    if (one.header === undefined) {
      // Wherever in the body it is: a changed letter of any value refuses it.
      for (const secret of one.body.match(/[\w-]{20,}/g) ?? [])
        expect(verifies(one, good, one.body.replace(secret, changed(secret)))).toBe(false);
      expect(verifies(one, good, '{}')).toBe(false);
      expect(verifies(one, good, '{"context":{"data":1,"proof":2},"command":3,"token":4}')).toBe(false);
      expect(verifies(one, good, '[')).toBe(false);
      return;
    }
    const proof = good[one.header] ?? '';
    for (const wrong of [changed(proof), changed(proof, proof.length - 2), `${proof}0`, ...proofs])
      expect([wrong, verifies(one, { ...good, [one.header]: wrong })]).toEqual([wrong, false]);
    const { [one.header]: _proof, ...without } = good;
    expect(verifies(one, without)).toBe(false);
  });

  it('whose body or time was changed is not believed', () => {
    if (one.coversBody) expect(verifies(one, good, `${one.body} `)).toBe(false);
    if (one.window === undefined) return;
    for (const late of [at - one.window - 1, at + one.window + 1])
      expect(verifies(one, one.signed(one.body, late))).toBe(false);
    const time = Object.keys(good).find((name) => name.includes('timestamp')) ?? '';
    expect(verifies(one, { ...good, [time]: `${at + 1}` })).toBe(false);
  });
});

it('a time that Mailgun signed ten hours ago is not believed', () => {
  const { mailgun } = cases;
  if (mailgun === undefined) throw new Error('no case');
  const headers = mailgun.signed('', 0);
  expect(verifies(mailgun, headers, mailForm(NOW / 1000 - 8 * 3_600, 'b'.repeat(50)))).toBe(true);
  expect(verifies(mailgun, headers, mailForm(NOW / 1000 - 10 * 3_600, 'b'.repeat(50)))).toBe(false);
});

describe('a body that nobody expects', () => {
  const deep = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) as unknown;
  const from = { id: 5, is_bot: false, first_name: 'A' };
  const said = { message_id: 1, date: NOW / 1000, chat: { id: 5, type: 'private' }, from, text: 'x' };
  const bodies: unknown[] = [
    ...[null, 7, 'x', [], {}, deep, { message: deep }, { update_id: 1, message: deep }],
    ...[
      { type: 'event_callback', event: deep },
      { type: 'event_callback', event: { type: 'invented' } },
    ],
    ...[{ type: 99, id: 'x' }, { action: 'created', comment: deep }, { context: deep }, { command: '/x' }],
    ...[
      { __proto__: null, constructor: 1 },
      { update_id: '1', message: said },
    ],
    // A person whose id is a text is not the one whose id is the number.
    { update_id: 1, message: { ...said, from: { ...from, id: '5' } } },
    { update_id: 1, message: { ...said, chat: { id: '5', type: 'private' } } },
  ];

  it.each(Object.entries(cases))('starts nothing in %s, and no error', (_, { platform, settings }) => {
    for (const body of bodies) {
      const request = { headers: {}, body: Buffer.alloc(0), nowMs: NOW, publicUrl: null };
      for (const update of platform.webhook?.read(body, request, settings) ?? [])
        expect(update.kind).toBe('other');
    }
  });

  it('with 10,000 entities is read as it is', () => {
    const entities = Array.from({ length: 10_000 }, () => ({ type: 'mention', offset: 0, length: 1 }));
    const request = { headers: {}, body: Buffer.alloc(0), nowMs: NOW, publicUrl: null };
    const body = { update_id: 1, message: { ...said, entities } };
    const [update] =
      telegram.webhook?.read(body, request, cases.telegram?.settings as PlatformSettings) ?? [];
    expect(update).toMatchObject({ kind: 'message', text: 'x', mentioned: false, from: { id: '5' } });
  });
});
