import { createHmac, generateKeyPairSync, hash, sign as signWithKey } from 'node:crypto';
import { type AuthScheme, authSchemes } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import { LinearWebhookClient } from '@linear/sdk/webhooks';
import { sign as octokitSign } from '@octokit/webhooks-methods';
import { ApiVersion, shopifyApi } from '@shopify/shopify-api';
import '@shopify/shopify-api/adapters/web-api';
import { isValidSlackRequest } from '@slack/bolt';
import { verifyKey } from 'discord-interactions';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { Webhook as SvixWebhook } from 'svix';
import { getExpectedTwilioSignature } from 'twilio/lib/webhooks/webhooks.js';
import { Refusal } from '../../../http/refusal.ts';
import { NOW_MS, routeOf } from '../../../testing/route.ts';
import type { Route } from '../../route.ts';
import { authenticate } from '../authenticate.ts';
import { schemes } from '../scheme-registry.ts';

type Headers = Record<string, string>;

interface Sent {
  readonly headers: Headers;
  readonly body: string | Buffer;
  readonly publicUrl?: string;
}

interface Provider {
  readonly scheme: AuthScheme;
  readonly secret: string;
  /** Another secret that the scheme could have. */
  readonly otherSecret: string;
  /** As the provider sends it at that time; made with the provider's own library if it has one. */
  readonly send: (secret: string, atSeconds: number) => Promise<Sent> | Sent;
  /** The header that contains the signature or token. */
  readonly header: string;
  /** How far off the time may be; undefined: the scheme has none. */
  readonly windowSeconds?: number;
  /** Whether the signature covers the body. */
  readonly signsBody: boolean;
  /** The route must name the scheme. */
  readonly namedOnly?: true;
}

const NOW = NOW_MS / 1000;
const JSON_BODY = '{"text":"grüße","webhookTimestamp":0}';
const whsec = (fill: number) => `whsec_${Buffer.alloc(32, fill).toString('base64')}`;
const hmac = (secret: string, text: string) => createHmac('sha256', secret).update(text);
const basicOf = (credentials: string) => `Basic ${Buffer.from(credentials).toString('base64')}`;

const pairs = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')] as const;
const whpk = (pair: (typeof pairs)[number]) =>
  `whpk_${pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64')}`;

const FORM = 'application/x-www-form-urlencoded';
const TWILIO_URL = 'https://hooks.example.com/webhooks/hook?from=twilio';

/** As the Developer Portal shows it. */
function discordKey(pair: (typeof pairs)[number]): string {
  return pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex');
}

function discordRequest(body: string, at: number): Sent {
  const signed = Buffer.from(`${at}${body}`);
  return {
    body,
    headers: {
      'x-signature-timestamp': String(at),
      'x-signature-ed25519': signWithKey(null, signed, pairs[0].privateKey).toString('hex'),
    },
  };
}

const providers: Record<string, Provider> = {
  'Standard Webhooks': {
    scheme: 'standard-webhooks',
    secret: whsec(1),
    otherSecret: whsec(2),
    send: (secret, at) => ({
      body: JSON_BODY,
      headers: {
        'webhook-id': 'msg_1',
        'webhook-timestamp': String(at),
        'webhook-signature': new StandardWebhook(secret).sign('msg_1', new Date(at * 1000), JSON_BODY),
      },
    }),
    header: 'webhook-signature',
    windowSeconds: 300,
    signsBody: true,
  },
  'Standard Webhooks, asymmetric': {
    scheme: 'standard-webhooks',
    secret: whpk(pairs[0]),
    otherSecret: whpk(pairs[1]),
    send: (_secret, at) => ({
      body: JSON_BODY,
      headers: {
        'webhook-id': 'msg_1',
        'webhook-timestamp': String(at),
        'webhook-signature': `v1a,${signWithKey(null, Buffer.from(`msg_1.${at}.${JSON_BODY}`), pairs[0].privateKey).toString('base64')}`,
      },
    }),
    header: 'webhook-signature',
    windowSeconds: 300,
    signsBody: true,
  },
  Svix: {
    scheme: 'svix',
    secret: whsec(3),
    otherSecret: whsec(4),
    send: (secret, at) => ({
      body: JSON_BODY,
      headers: {
        'svix-id': 'msg_2',
        'svix-timestamp': String(at),
        'svix-signature': new SvixWebhook(secret).sign('msg_2', new Date(at * 1000), JSON_BODY),
      },
    }),
    header: 'svix-signature',
    windowSeconds: 300,
    signsBody: true,
  },
  GitHub: {
    scheme: 'github',
    secret: 'gh',
    otherSecret: 'hg',
    send: async (secret) => ({
      body: JSON_BODY,
      headers: { 'x-hub-signature-256': await octokitSign(secret, JSON_BODY) },
    }),
    header: 'x-hub-signature-256',
    signsBody: true,
  },
  'GitLab with a token': {
    scheme: 'gitlab',
    secret: 'gl-token',
    otherSecret: 'gl-tokem',
    // GitLab sends these two with every delivery, signed or not.
    send: (secret, at) => ({
      body: JSON_BODY,
      headers: { 'x-gitlab-token': secret, 'webhook-id': 'uuid', 'webhook-timestamp': String(at) },
    }),
    header: 'x-gitlab-token',
    signsBody: false,
  },
  'GitLab with a signing token': {
    scheme: 'gitlab',
    secret: whsec(5),
    otherSecret: whsec(6),
    send: (secret, at) => ({
      body: JSON_BODY,
      headers: {
        'webhook-id': 'uuid',
        'webhook-timestamp': String(at),
        'webhook-signature': new StandardWebhook(secret).sign('uuid', new Date(at * 1000), JSON_BODY),
      },
    }),
    header: 'webhook-signature',
    windowSeconds: 300,
    signsBody: true,
  },
  Stripe: {
    scheme: 'stripe',
    secret: 'whsec_test_secret',
    otherSecret: 'whsec_test_secreu',
    send: (secret, timestamp) => ({
      body: JSON_BODY,
      headers: {
        'stripe-signature': Stripe.webhooks.generateTestHeaderString({
          payload: JSON_BODY,
          secret,
          timestamp,
        }),
      },
    }),
    header: 'stripe-signature',
    windowSeconds: 300,
    signsBody: true,
  },
  Slack: {
    scheme: 'slack',
    secret: '8f742231b10e8888abcd99yyyzzz85a5',
    otherSecret: '8f742231b10e8888abcd99yyyzzz85a6',
    send: (secret, at) => ({
      body: JSON_BODY,
      headers: {
        'x-slack-request-timestamp': String(at),
        'x-slack-signature': `v0=${hmac(secret, `v0:${at}:${JSON_BODY}`).digest('hex')}`,
      },
    }),
    header: 'x-slack-signature',
    windowSeconds: 300,
    signsBody: true,
  },
  Linear: {
    scheme: 'linear',
    secret: 'lin_wh_1',
    otherSecret: 'lin_wh_2',
    send: (secret, at) => {
      const body = JSON.stringify({ action: 'create', type: 'Issue', webhookTimestamp: at * 1000 });
      return { body, headers: { 'linear-signature': hmac(secret, body).digest('hex') } };
    },
    header: 'linear-signature',
    windowSeconds: 60,
    signsBody: true,
  },
  Shopify: {
    scheme: 'shopify',
    secret: 'shpss_1',
    otherSecret: 'shpss_2',
    send: (secret) => ({
      body: JSON_BODY,
      headers: { 'x-shopify-hmac-sha256': hmac(secret, JSON_BODY).digest('base64') },
    }),
    header: 'x-shopify-hmac-sha256',
    signsBody: true,
  },
  "Shopify's events": {
    scheme: 'shopify',
    secret: 'shpss_1',
    otherSecret: 'shpss_2',
    send: (secret) => ({
      body: JSON_BODY,
      headers: { 'shopify-hmac-sha256': hmac(secret, JSON_BODY).digest('base64') },
    }),
    header: 'shopify-hmac-sha256',
    signsBody: true,
  },
  'Twilio with a form': {
    scheme: 'twilio',
    secret: 'twilio-token',
    otherSecret: 'twilio-tokem',
    send: (secret) => ({
      body: 'To=%2B18005551212&Body=gr%C3%BC%C3%9Fe+dich&From=%2B1415',
      publicUrl: TWILIO_URL,
      headers: {
        'content-type': FORM,
        'x-twilio-signature': getExpectedTwilioSignature(secret, TWILIO_URL, {
          Body: 'grüße dich',
          From: '+1415',
          To: '+18005551212',
        }),
      },
    }),
    header: 'x-twilio-signature',
    signsBody: true,
  },
  'Twilio with JSON': {
    scheme: 'twilio',
    secret: 'twilio-token',
    otherSecret: 'twilio-tokem',
    send: (secret) => {
      const publicUrl = `${TWILIO_URL}&bodySHA256=${hash('sha256', JSON_BODY)}`;
      return {
        body: JSON_BODY,
        publicUrl,
        headers: {
          'content-type': 'application/json',
          'x-twilio-signature': getExpectedTwilioSignature(secret, publicUrl, {}),
        },
      };
    },
    header: 'x-twilio-signature',
    signsBody: true,
  },
  'a generic sender': {
    scheme: 'hmac',
    secret: 'generic',
    otherSecret: 'generik',
    send: (secret, at) => ({
      body: JSON_BODY,
      headers: {
        'x-webhook-timestamp': String(at),
        'x-webhook-signature-v2': hmac(secret, `${at}.${JSON_BODY}`).digest('hex'),
      },
    }),
    header: 'x-webhook-signature-v2',
    windowSeconds: 300,
    signsBody: true,
  },
  'a generic sender without timestamp': {
    scheme: 'hmac-body',
    secret: 'generic',
    otherSecret: 'generik',
    send: (secret) => ({
      body: JSON_BODY,
      headers: { 'x-webhook-signature': hmac(secret, JSON_BODY).digest('hex') },
    }),
    header: 'x-webhook-signature',
    signsBody: true,
  },
  Sentry: {
    scheme: 'sentry',
    secret: 'sentry-client-secret',
    otherSecret: 'sentry-client-secres',
    send: (secret) => ({
      body: JSON_BODY,
      headers: { 'sentry-hook-signature': hmac(secret, JSON_BODY).digest('hex') },
    }),
    header: 'sentry-hook-signature',
    signsBody: true,
  },
  PagerDuty: {
    scheme: 'pagerduty',
    secret: 'pagerduty-secret',
    otherSecret: 'pagerduty-secres',
    send: (secret) => ({
      body: JSON_BODY,
      headers: { 'x-pagerduty-signature': `v1=${hmac(secret, JSON_BODY).digest('hex')}` },
    }),
    header: 'x-pagerduty-signature',
    signsBody: true,
  },
  Grafana: {
    scheme: 'grafana',
    secret: 'grafana-secret',
    otherSecret: 'grafana-secres',
    send: (secret) => ({
      body: JSON_BODY,
      headers: { 'x-grafana-alerting-signature': hmac(secret, JSON_BODY).digest('hex') },
    }),
    header: 'x-grafana-alerting-signature',
    signsBody: true,
  },
  'Grafana with a timestamp': {
    scheme: 'grafana',
    secret: 'grafana-secret',
    otherSecret: 'grafana-secres',
    send: (secret, at) => ({
      body: JSON_BODY,
      headers: {
        'x-grafana-alerting-signature-timestamp': String(at),
        'x-grafana-alerting-signature': hmac(secret, `${at}:${JSON_BODY}`).digest('hex'),
      },
    }),
    header: 'x-grafana-alerting-signature',
    windowSeconds: 300,
    signsBody: true,
  },
  Bitbucket: {
    scheme: 'bitbucket',
    secret: 'bitbucket-secret',
    otherSecret: 'bitbucket-secres',
    send: (secret) => ({
      body: JSON_BODY,
      headers: { 'x-hub-signature': `sha256=${hmac(secret, JSON_BODY).digest('hex')}` },
    }),
    header: 'x-hub-signature',
    signsBody: true,
  },
  Zendesk: {
    scheme: 'zendesk',
    secret: 'dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ==',
    otherSecret: 'dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seR==',
    send: (secret, at) => {
      const time = new Date(at * 1000).toISOString();
      return {
        body: JSON_BODY,
        headers: {
          'x-zendesk-webhook-signature-timestamp': time,
          'x-zendesk-webhook-signature': hmac(secret, time + JSON_BODY).digest('base64'),
        },
      };
    },
    header: 'x-zendesk-webhook-signature',
    windowSeconds: 300,
    signsBody: true,
  },
  Typeform: {
    scheme: 'typeform',
    secret: 'typeform-secret',
    otherSecret: 'typeform-secres',
    send: (secret) => ({
      body: JSON_BODY,
      headers: { 'typeform-signature': `sha256=${hmac(secret, JSON_BODY).digest('base64')}` },
    }),
    header: 'typeform-signature',
    signsBody: true,
  },
  Telegram: {
    scheme: 'telegram',
    secret: 'telegram-secret_token',
    otherSecret: 'telegram-secret_tokem',
    send: (secret) => ({ body: JSON_BODY, headers: { 'x-telegram-bot-api-secret-token': secret } }),
    header: 'x-telegram-bot-api-secret-token',
    signsBody: false,
  },
  Discord: {
    scheme: 'discord',
    secret: discordKey(pairs[0]),
    otherSecret: discordKey(pairs[1]),
    send: (_secret, at) => discordRequest(JSON_BODY, at),
    header: 'x-signature-ed25519',
    windowSeconds: 300,
    signsBody: true,
    namedOnly: true,
  },
  'a bearer token': {
    scheme: 'bearer',
    secret: 'token-1',
    otherSecret: 'token-2',
    send: (secret) => ({ body: JSON_BODY, headers: { authorization: `Bearer ${secret}` } }),
    header: 'authorization',
    signsBody: false,
  },
  'a user and a password': {
    scheme: 'basic',
    secret: 'user:pass:word',
    otherSecret: 'user:pass:worc',
    send: (secret) => ({ body: JSON_BODY, headers: { authorization: basicOf(secret) } }),
    header: 'authorization',
    signsBody: false,
  },
};

const REFUSED = '401 unauthorized the signature or token is missing or wrong for this route';

function verdict(route: Route, { headers, body, publicUrl = TWILIO_URL }: Sent): string {
  try {
    authenticate({ route, headers, body: Buffer.from(body as string), nowMs: NOW_MS, publicUrl });
    return 'ok';
  } catch (error) {
    if (error instanceof Refusal) return `${error.status} ${error.code} ${error.message}`;
    throw error;
  }
}

function flipped(bytes: Buffer, index: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[index] = (copy[index] ?? 0) ^ 1;
  return copy;
}

const CONFIG = { public_url: 'https://hooks.example.com' };

describe.each(Object.entries(providers))('%s', (_name, provider) => {
  const { secret, otherSecret, header, scheme } = provider;
  const named = provider.namedOnly === true ? { auth: scheme } : {};
  const detecting = routeOf({ secret, ...named }, CONFIG);

  it('is accepted, whether its scheme is detected or named', async () => {
    const sent = await provider.send(secret, NOW);
    expect(verdict(detecting, sent)).toBe('ok');
    expect(verdict(routeOf({ secret, auth: scheme }, CONFIG), sent)).toBe('ok');
  });

  it('is accepted with either secret while they rotate, and refused with another', async () => {
    const sent = await provider.send(secret, NOW);
    expect(verdict(routeOf({ secret: [otherSecret, secret], ...named }, CONFIG), sent)).toBe('ok');
    expect(verdict(routeOf({ secret: [secret, otherSecret], ...named }, CONFIG), sent)).toBe('ok');
    expect(verdict(routeOf({ secret: otherSecret, ...named }, CONFIG), sent)).toBe(REFUSED);
  });

  it('is refused for one flipped bit anywhere in its signature, and causes no other error', async () => {
    const sent = await provider.send(secret, NOW);
    const value = Buffer.from(sent.headers[header] ?? '', 'latin1');
    // The last character of base64 without padding has unused bits; the user name of Basic is not part of the proof.
    for (let index = 0; index < value.length; index += 1) {
      const broken = flipped(value, index).toString('latin1');
      if (sameMeaning(sent.headers[header] ?? '', broken)) continue;
      expect([
        broken,
        verdict(detecting, { ...sent, headers: { ...sent.headers, [header]: broken } }),
      ]).toEqual([broken, REFUSED]);
    }
  });

  it('is refused without any one of its headers', async () => {
    const sent = await provider.send(secret, NOW);
    const parts = Object.keys(sent.headers).filter(
      (name) =>
        name !== 'content-type' &&
        !(scheme === 'gitlab' && !provider.signsBody && name.startsWith('webhook')),
    );
    for (const name of parts) {
      const { [name]: _gone, ...rest } = sent.headers;
      expect([name, verdict(detecting, { ...sent, headers: rest })]).toEqual([name, REFUSED]);
      expect(verdict(detecting, { ...sent, headers: { ...rest, [name]: '' } })).toBe(REFUSED);
      expect(verdict(routeOf({ secret, auth: scheme }, CONFIG), { ...sent, headers: rest })).toBe(REFUSED);
    }
  });

  it.each([
    'ÿ'.repeat(64),
    '\u0080\u00ff,=',
    'v1,ÿÿÿÿ',
    't=ÿ,v1=ÿ',
    'Basic ÿÿÿÿ',
    'sha256=ÿ',
    'v1a,====',
    'v1a,AAAA',
    'v1,AAAA',
    'AAAA',
    'sha256=AAAA',
    'v0=00',
    ' ',
  ])('is refused with %j in any of its headers', async (nonsense) => {
    const sent = await provider.send(secret, NOW);
    for (const name of Object.keys(sent.headers)) {
      if (name === 'content-type' || (!provider.signsBody && name !== header)) continue;
      expect(verdict(detecting, { ...sent, headers: { ...sent.headers, [name]: nonsense } })).toBe(REFUSED);
    }
  });

  if (provider.signsBody) {
    it('is refused for one flipped bit anywhere in its body', async () => {
      const sent = await provider.send(secret, NOW);
      const bytes = Buffer.from(sent.body as string);
      for (let index = 0; index < bytes.length; index += 1) {
        const body = flipped(bytes, index);
        expect([index, verdict(detecting, { ...sent, body })]).toEqual([index, REFUSED]);
      }
      expect(verdict(detecting, { ...sent, body: Buffer.from([0xff, 0xfe]) })).toBe(REFUSED);
      expect(verdict(detecting, { ...sent, body: '' })).toBe(REFUSED);
    });
  }

  const window = provider.windowSeconds;
  if (window !== undefined) {
    it(`is accepted up to ${window} s off, and refused beyond`, async () => {
      for (const at of [NOW - window, NOW + window]) {
        expect(verdict(detecting, await provider.send(secret, at))).toBe('ok');
      }
      for (const at of [NOW - window - 1, NOW + window + 1, 0]) {
        expect([at, verdict(detecting, await provider.send(secret, at))]).toEqual([at, REFUSED]);
      }
    });
  }
});

/** Whether two header values are the same proof: base64 ignores its last bits, hex and scheme names ignore case. */
function sameMeaning(one: string, other: string): boolean {
  if (one.toLowerCase() === other.toLowerCase()) return true;
  const encoded = /^(?:basic |v1a?,)?([A-Za-z0-9+/]+)=*$/i;
  const [a, b] = [encoded.exec(one)?.[1], encoded.exec(other)?.[1]];
  if (a === undefined || b === undefined || one.slice(0, -a.length) === '') return false;
  return Buffer.from(a, 'base64').equals(Buffer.from(b, 'base64'));
}

describe('the schemes', () => {
  it('are those that the config knows', () => {
    expect(schemes.map(({ name }) => name).sort()).toEqual([...authSchemes].sort());
  });

  it('all have a provider in this test', () => {
    expect([...new Set(Object.values(providers).map(({ scheme }) => scheme))].sort()).toEqual(
      [...authSchemes].sort(),
    );
  });
});

describe("the providers' own libraries", () => {
  it('of Discord and Linear accept what is accepted here, and refuse what is refused', async () => {
    const { headers, body } = discordRequest(JSON_BODY, NOW);
    const discord = (text: string) =>
      verifyKey(
        text,
        headers['x-signature-ed25519'] ?? '',
        headers['x-signature-timestamp'] ?? '',
        discordKey(pairs[0]),
      );
    expect([await discord(body as string), await discord(`${body} `)]).toEqual([true, false]);

    // Its library looks at the clock.
    const now = Math.floor(Date.now() / 1000);
    const sent = await providers.Linear?.send('lin_wh_1', now);
    const linear = new LinearWebhookClient('lin_wh_1');
    const signature = sent?.headers['linear-signature'] ?? '';
    expect(linear.verify(Buffer.from(sent?.body as string), signature, now * 1000)).toBe(true);
    expect(() => linear.verify(Buffer.from(`${sent?.body} `), signature, now * 1000)).toThrow();
  });

  it('of Slack accepts what is accepted here, and refuses what is refused', async () => {
    const judged = async (at: number, change: Partial<{ body: string; secret: string }> = {}) => {
      const sent = (await providers.Slack?.send('slack-signing-secret', at)) as Sent;
      const body = change.body ?? (sent.body as string);
      const signingSecret = change.secret ?? 'slack-signing-secret';
      const headers = {
        'x-slack-signature': sent.headers['x-slack-signature'] ?? '',
        'x-slack-request-timestamp': Number(sent.headers['x-slack-request-timestamp']),
      };
      return [
        isValidSlackRequest({ signingSecret, body, headers, nowMilliseconds: NOW_MS }),
        verdict(routeOf({ secret: signingSecret, auth: 'slack' }), { ...sent, body }) === 'ok',
      ];
    };
    expect(await judged(NOW)).toEqual([true, true]);
    expect(await judged(NOW - 300)).toEqual([true, true]);
    expect(await judged(NOW - 301)).toEqual([false, false]);
    expect(await judged(NOW, { body: `${JSON_BODY} ` })).toEqual([false, false]);
    expect(await judged(NOW, { secret: 'another-signing-secret' })).toEqual([false, false]);
  });

  it.each([
    ['Shopify', 'x-shopify-'],
    ["Shopify's events", 'shopify-'],
  ])('of Shopify accepts what is accepted here, and refuses what is refused: %s', async (name, prefix) => {
    const sent = (await providers[name]?.send('shpss_1', NOW)) as Sent;
    // Its library wants these, too.
    const headers = {
      ...sent.headers,
      [`${prefix}topic`]: 'orders/create',
      [`${prefix}shop-domain`]: 'shop.myshopify.com',
      [`${prefix}api-version`]: '2026-10',
      [`${prefix}webhook-id`]: 'w-1',
    };
    const judged = async (body: string, secret = 'shpss_1') => {
      const { webhooks } = shopifyApi({
        apiKey: 'key',
        apiSecretKey: secret,
        apiVersion: ApiVersion.October26,
        hostName: 'hooks.example.com',
        isEmbeddedApp: false,
        logger: { log: () => {} },
      });
      const rawRequest = new Request('https://hooks.example.com/', { method: 'POST', headers });
      const { valid } = await webhooks.validate({ rawBody: body, rawRequest });
      return [valid, verdict(routeOf({ secret, auth: 'shopify' }), { headers, body }) === 'ok'];
    };
    expect(await judged(JSON_BODY)).toEqual([true, true]);
    expect(await judged(`${JSON_BODY} `)).toEqual([false, false]);
    expect(await judged(JSON_BODY, 'shpss_2')).toEqual([false, false]);
  });
});

describe('the public key of a Discord application', () => {
  it('is no secret: without `auth` nothing that is signed with it is accepted', () => {
    const secret = discordKey(pairs[0]);
    const detecting = routeOf({ secret });
    expect(verdict(detecting, discordRequest(JSON_BODY, NOW))).toBe(REFUSED);
    const named = routeOf({ secret, auth: 'discord' });
    for (const headers of [
      { 'x-hub-signature-256': `sha256=${hmac(secret, JSON_BODY).digest('hex')}` },
      { authorization: `Bearer ${secret}` },
    ] as Headers[]) {
      expect(verdict(named, { headers, body: JSON_BODY })).toBe(REFUSED);
    }
  });
});

describe('a scheme that the route describes', () => {
  const at = String(NOW);
  const body = JSON_BODY;
  const digest = (algorithm: string, text: string, encoding: 'hex' | 'base64') =>
    createHmac(algorithm, 'described-secret').update(text).digest(encoding);
  const described = (auth: object) => routeOf({ secret: 'described-secret', auth });

  it.each(
    (['sha1', 'sha256', 'sha512'] as const).flatMap((algorithm) =>
      (['hex', 'base64'] as const).map((encoding) => ({ algorithm, encoding })),
    ),
  )('signs with $algorithm in $encoding', ({ algorithm, encoding }) => {
    const route = described({
      scheme: 'hmac',
      header: 'X-Acme-Signature',
      algorithm,
      encoding,
      prefix: 'a=',
    });
    const signed = (text: string) => `a=${digest(algorithm, text, encoding)}`;
    expect(verdict(route, { body, headers: { 'x-acme-signature': signed(body) } })).toBe('ok');
    // Several while a secret is rotated.
    const several = `a=AAAA, ${signed(body)},b=1`;
    expect(verdict(route, { body, headers: { 'x-acme-signature': several } })).toBe('ok');
    for (const wrong of [signed(`${body} `), signed(body).slice(2), signed(body).slice(0, -4), 'a=', '']) {
      expect([wrong, verdict(route, { body, headers: { 'x-acme-signature': wrong } })]).toEqual([
        wrong,
        REFUSED,
      ]);
    }
    expect(verdict(route, { body, headers: {} })).toBe(REFUSED);
  });

  it('signs what the template says, within the tolerance', () => {
    const route = described({
      scheme: 'hmac',
      header: 'X-Signature',
      signed: 'v2:{id}:{timestamp}.{body}',
      timestamp_header: 'X-Time',
      id_header: 'X-Id',
      tolerance_seconds: 10,
    });
    const send = (time: string, id = 'd-1') => ({
      body,
      headers: {
        'x-signature': digest('sha256', `v2:${id}:${time}.${body}`, 'hex'),
        'x-time': time,
        'x-id': id,
      },
    });
    const later = (seconds: number) => NOW_MS + seconds * 1000;
    for (const fresh of [at, String(NOW - 10), String(later(9)), new Date(later(-9)).toISOString()]) {
      expect([fresh, verdict(route, send(fresh))]).toEqual([fresh, 'ok']);
    }
    const offset = '2025-10-09T10:53:20+02:00';
    expect(new Date(offset).getTime()).toBe(NOW_MS);
    expect(verdict(route, send(offset))).toBe('ok');
    for (const stale of [
      String(NOW - 11),
      String(later(11)),
      new Date(later(-11)).toISOString(),
      'now',
      '',
    ]) {
      expect([stale, verdict(route, send(stale))]).toEqual([stale, REFUSED]);
    }
    const { headers } = send(at);
    expect(verdict(route, { body, headers: { ...headers, 'x-id': 'd-2' } })).toBe(REFUSED);
    expect(verdict(route, { body, headers: { ...headers, 'x-id': '' } })).toBe(REFUSED);
  });

  it('is a token in a header', () => {
    const route = described({ scheme: 'token', header: 'X-Acme-Token' });
    expect(verdict(route, { body, headers: { 'x-acme-token': 'described-secret' } })).toBe('ok');
    for (const headers of [
      { 'x-acme-token': 'described-secres' },
      { 'x-acme-token': '' },
      { authorization: 'Bearer described-secret' },
    ] as Headers[]) {
      expect(verdict(route, { body, headers })).toBe(REFUSED);
    }
  });

  it.each([
    [{ scheme: 'hmac' }, 'header'],
    [{ scheme: 'hmac', header: 'X-A', signed: '{timestamp}.{body}' }, 'timestamp_header'],
    [{ scheme: 'hmac', header: 'X-A', signed: '{id}.{body}' }, 'id_header'],
    [{ scheme: 'hmac', header: 'X-A', timestamp_header: 'X-T' }, 'proves nothing'],
    [{ scheme: 'hmac', header: 'X-A', signed: 'constant' }, '{body} exactly once'],
    [{ scheme: 'hmac', header: 'X-A', signed: '{body}{url}' }, '{url}'],
    [{ scheme: 'hmac', header: 'X-A', algorithm: 'md5' }, 'md5'],
    [{ scheme: 'hmac', header: 'X A' }, 'header'],
    [{ scheme: 'token' }, 'header'],
    [{ scheme: 'pigeon', header: 'X-A' }, 'pigeon'],
    [{ scheme: 'token', header: 'X-A', encoding: 'hex' }, 'encoding'],
  ])('is refused by the config: %j', (auth, reason) => {
    expect(() => described(auth)).toThrow(reason);
  });
});

describe('published test vectors', () => {
  const at = (seconds: number, secret: string, sent: Sent, top = CONFIG) => {
    const route = routeOf({ secret }, top);
    const { headers, body, publicUrl = null } = sent;
    const received = { route, headers, body: Buffer.from(body as string), nowMs: seconds * 1000, publicUrl };
    return authenticate(received)?.name;
  };

  it('of Standard Webhooks and Svix are accepted', () => {
    // docs.svix.com, "Verifying Webhooks Manually".
    const body = '{"test": 2432232314}';
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    const signature = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
    const sent = (prefix: string, signatures: string) => ({
      body,
      headers: {
        [`${prefix}-id`]: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
        [`${prefix}-timestamp`]: '1614265330',
        [`${prefix}-signature`]: signatures,
      },
    });
    expect(at(1614265330, secret, sent('svix', signature))).toBe('svix');
    expect(at(1614265330, secret, sent('webhook', signature))).toBe('standard-webhooks');
    // Several signatures, one of which matches, and unknown versions.
    const several = `v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc= v2,x ${signature}`;
    expect(at(1614265330, secret, sent('webhook', several))).toBe('standard-webhooks');
    // Without the prefix, as the libraries allow.
    expect(at(1614265330, secret.slice('whsec_'.length), sent('webhook', signature))).toBe(
      'standard-webhooks',
    );
  });

  it('of Slack is accepted', () => {
    // docs.slack.dev, "Verifying requests from Slack".
    const body =
      'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';
    const headers = {
      'x-slack-request-timestamp': '1531420618',
      'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    };
    expect(at(1531420618, '8f742231b10e8888abcd99yyyzzz85a5', { body, headers })).toBe('slack');
  });

  it('of Twilio is accepted', () => {
    // twilio.com/docs/usage/security, "Validating requests".
    const body = new URLSearchParams({
      Digits: '1234',
      To: '+18005551212',
      From: '+14158675309',
      Caller: '+14158675309',
      CallSid: 'CA1234567890ABCDE',
    }).toString();
    const headers = { 'content-type': FORM, 'x-twilio-signature': 'RSOYDt4T1cUTdK1PDd93/VVr8B8=' };
    const publicUrl = 'https://mycompany.com/myapp.php?foo=1&bar=2';
    expect(at(NOW, '12345', { body, headers, publicUrl })).toBe('twilio');
    // The port of the scheme makes no difference, as in Twilio's library.
    expect(at(NOW, '12345', { body, headers, publicUrl: publicUrl.replace('.com', '.com:443') })).toBe(
      'twilio',
    );
  });
});

describe('a scheme also accepts', () => {
  it('Basic with any user name if the secret is the password alone', () => {
    const route = routeOf({ secret: 'pass:word' });
    const sent = (authorization: string) => verdict(route, { body: '{}', headers: { authorization } });
    expect(sent(basicOf('anybody:pass:word'))).toBe('ok');
    expect(sent(basicOf(':pass:word'))).toBe('ok');
    expect(sent(basicOf('word'))).toBe(REFUSED);
    expect(sent(basicOf('anybody:word'))).toBe(REFUSED);
    expect(
      verdict(routeOf({ secret: 'word' }), { body: '{}', headers: { authorization: basicOf('word') } }),
    ).toBe(REFUSED);
  });

  it('a plain text as the secret of Standard Webhooks, as bytes', () => {
    const signature = hmac('not base64!', `id.${NOW}.{}`).digest('base64');
    const headers = {
      'webhook-id': 'id',
      'webhook-timestamp': String(NOW),
      'webhook-signature': `v1,${signature}`,
    };
    expect(verdict(routeOf({ secret: 'not base64!' }), { body: '{}', headers })).toBe('ok');
  });

  it('only the signature of GitLab if it sends the token too', async () => {
    const signing = whsec(7);
    const stale = await providers['GitLab with a signing token']?.send(signing, NOW - 999);
    const headers = { ...stale?.headers, 'x-gitlab-token': 'the-token' };
    const route = (auth?: string) => routeOf({ secret: [signing, 'the-token'], auth });
    expect(verdict(route(), { body: JSON_BODY, headers })).toBe(REFUSED);
    expect(verdict(route('gitlab'), { body: JSON_BODY, headers })).toBe(REFUSED);
  });

  it('nothing from Twilio without a public URL, and no body whose hash is not in the address', async () => {
    const secret = 'twilio-token';
    const sent = (await providers['Twilio with a form']?.send(secret, NOW)) as Sent;
    const route = routeOf({ secret });
    const received = { route, headers: sent.headers, body: Buffer.from(sent.body as string), nowMs: NOW_MS };
    expect(() => authenticate({ ...received, publicUrl: null })).toThrow(Refusal);
    expect(verdict(route, { ...sent, publicUrl: TWILIO_URL.replace('hook?', 'other?') })).toBe(REFUSED);
    const headers = {
      'content-type': 'application/json',
      'x-twilio-signature': getExpectedTwilioSignature(secret, TWILIO_URL, {}),
    };
    expect(verdict(route, { body: '{"any":"body"}', headers })).toBe(REFUSED);
  });

  it('no form from Twilio under the signature of a JSON body', async () => {
    const sent = (await providers['Twilio with JSON']?.send('twilio-token', NOW)) as Sent;
    const route = routeOf({ secret: 'twilio-token' });
    expect(verdict(route, sent)).toBe('ok');
    for (const body of ['&', '', '&&', JSON_BODY]) {
      expect(verdict(route, { ...sent, body, headers: { ...sent.headers, 'content-type': FORM } })).toBe(
        REFUSED,
      );
    }
  });

  it('a form from Twilio by the names of its fields, up to the maximum number of fields', () => {
    const route = routeOf({ secret: 'twilio-token' });
    const sent = (body: string, fields: Headers) => ({
      body,
      headers: {
        'content-type': FORM,
        'x-twilio-signature': getExpectedTwilioSignature('twilio-token', TWILIO_URL, fields),
      },
    });
    expect(verdict(route, sent('Body=hi', { Body: 'hi' }))).toBe('ok');
    expect(verdict(route, sent('?Body=hi', { Body: 'hi' }))).toBe(REFUSED);
    expect(verdict(route, sent('?Body=hi', { '?Body': 'hi' }))).toBe('ok');
    const fieldsOf = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, '']));
    for (const [count, expected] of [
      [10_000, 'ok'],
      [10_001, REFUSED],
    ] as const) {
      const fields = fieldsOf(count);
      expect(verdict(route, sent(Object.keys(fields).join('&'), fields))).toBe(expected);
    }
  });
});

describe('a public key', () => {
  const key = whpk(pairs[0]);
  const route = routeOf({ secret: key }, CONFIG);

  it.each(
    Object.entries(providers).filter(([, { scheme }]) => scheme !== 'standard-webhooks' && scheme !== 'svix'),
  )('is no secret by which anybody is %s', async (_name, provider) => {
    // GitLab's signing token has another form. Anybody who knows only the public key has its text.
    const sent =
      provider.header === 'webhook-signature'
        ? { body: '{}', headers: { 'x-gitlab-token': key } }
        : await provider.send(key, NOW);
    expect(verdict(route, sent)).toBe(REFUSED);
    expect(verdict(routeOf({ secret: [key, 'another'] }, CONFIG), sent)).toBe(REFUSED);
  });

  it('is not a password, with any user name, nor as bytes', () => {
    const sent = (headers: Headers) => verdict(route, { body: '{}', headers });
    expect(sent({ authorization: basicOf(`anybody:${key}`) })).toBe(REFUSED);
    expect(sent({ authorization: `Bearer ${key}` })).toBe(REFUSED);
    const bytes = Buffer.from(key.slice('whpk_'.length), 'base64');
    const signed = createHmac('sha256', bytes).update(`id.${NOW}.{}`).digest('base64');
    for (const prefix of ['webhook', 'svix']) {
      const headers = { [`${prefix}-id`]: 'id', [`${prefix}-timestamp`]: String(NOW) };
      expect(sent({ ...headers, [`${prefix}-signature`]: `v1,${signed}` })).toBe(REFUSED);
    }
  });
});
