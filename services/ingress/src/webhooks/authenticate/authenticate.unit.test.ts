import { createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Refusal } from '../../http/refusal.ts';
import { NOW_MS, receivedOf, routeOf } from '../../testing/route.ts';
import type { Route } from '../route.ts';
import { authenticate } from './authenticate.ts';

const BODY = '{"text":"grüße"}';
const NOW = NOW_MS / 1000;

const hex = (secret: string, text: string) => createHmac('sha256', secret).update(text).digest('hex');
const githubHeaders = (secret: string, body = BODY) => ({
  'x-hub-signature-256': `sha256=${hex(secret, body)}`,
});
const timestampedHeaders = (secret: string, at: number | string = NOW, body = BODY) => ({
  'x-webhook-timestamp': String(at),
  'x-webhook-signature-v2': hex(secret, `${at}.${body}`),
});

function verdict(route: Route, headers: Record<string, string>, body: string | Buffer = BODY): string {
  try {
    authenticate(receivedOf(route, headers, body));
    return 'ok';
  } catch (error) {
    if (error instanceof Refusal) return `${error.status} ${error.message}`;
    throw error;
  }
}

const refused = '401 the signature or token is missing or wrong for this route';
const route = routeOf({});

describe('a GitHub signature', () => {
  it('is accepted over the raw bytes', () => {
    expect(verdict(route, githubHeaders('s3cret'))).toBe('ok');
  });

  it("is accepted with GitHub's own published test vector", () => {
    // docs.github.com, "Validating webhook deliveries", "Testing the webhook payload validation".
    const documented = routeOf({ secret: "It's a Secret to Everybody" });
    const signature = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
    expect(verdict(documented, { 'x-hub-signature-256': signature }, 'Hello, World!')).toBe('ok');
  });

  it.each([
    ['of another secret', githubHeaders('wrong')['x-hub-signature-256']],
    ['without its prefix', hex('s3cret', BODY)],
    ['cut short', githubHeaders('s3cret')['x-hub-signature-256'].slice(0, -2)],
    ['with more behind it', `${githubHeaders('s3cret')['x-hub-signature-256']}00`],
    ['that is empty', ''],
    ['with non-ASCII bytes', `sha256=${'ÿ'.repeat(64)}`],
    ['that came twice', `${githubHeaders('s3cret')['x-hub-signature-256']}, sha256=${'0'.repeat(64)}`],
  ])('is refused %s', (_what, signature) => {
    expect(verdict(route, { 'x-hub-signature-256': signature })).toBe(refused);
  });
});

describe('a generic signature with timestamp', () => {
  it('is accepted over `timestamp.body`, up to 300 seconds off', () => {
    for (const at of [NOW, NOW - 300, NOW + 300]) {
      expect(verdict(route, timestampedHeaders('s3cret', at))).toBe('ok');
    }
  });

  it.each([
    ['is stale', timestampedHeaders('s3cret', NOW - 301)],
    ['comes from the future', timestampedHeaders('s3cret', NOW + 301)],
    ['is not a number', timestampedHeaders('s3cret', '1e9')],
    [
      'is another than was signed',
      { ...timestampedHeaders('s3cret'), 'x-webhook-timestamp': String(NOW - 1) },
    ],
    ['has non-ASCII digits', timestampedHeaders('s3cret', '١٧٦٠٠٠٠٠٠٠')],
  ])('is refused when its timestamp %s', (_what, headers) => {
    expect(verdict(route, headers)).toBe(refused);
  });

  it('is refused without a timestamp, with another secret, or over the body alone', () => {
    expect(verdict(route, { 'x-webhook-signature-v2': hex('s3cret', BODY) })).toBe(refused);
    expect(verdict(route, timestampedHeaders('wrong'))).toBe(refused);
    expect(
      verdict(route, { 'x-webhook-timestamp': String(NOW), 'x-webhook-signature-v2': hex('s3cret', BODY) }),
    ).toBe(refused);
  });
});

describe('a bearer token', () => {
  it('is accepted when it is the secret', () => {
    expect(verdict(route, { authorization: 'Bearer s3cret' })).toBe('ok');
    expect(verdict(route, { authorization: 'bearer s3cret' })).toBe('ok');
  });

  it.each([
    'Bearer wrong',
    'Bearer s3cre',
    'Bearer s3crett',
    'Bearer ',
    'Bearer',
    's3cret',
    'Basic s3cret',
    'Bearer s3crét',
    '',
  ])('is refused when it is %j', (authorization) => {
    expect(verdict(route, { authorization })).toBe(refused);
  });
});

describe('the scheme', () => {
  it('is that of the first header present; a failure does not fall through to the next', () => {
    expect(
      verdict(route, { ...timestampedHeaders('s3cret', NOW - 999), authorization: 'Bearer s3cret' }),
    ).toBe(refused);
    expect(verdict(route, { 'x-hub-signature-256': 'sha256=00', ...timestampedHeaders('s3cret') })).toBe(
      refused,
    );
    expect(verdict(route, { ...githubHeaders('s3cret'), authorization: 'Basic of-a-proxy' })).toBe('ok');
  });

  it('can be named by the route, and then nothing else is accepted', () => {
    const named = routeOf({ auth: 'hmac' });
    expect(verdict(named, timestampedHeaders('s3cret'))).toBe('ok');
    expect(verdict(named, githubHeaders('s3cret'))).toBe(refused);
    expect(verdict(named, { authorization: 'Bearer s3cret' })).toBe(refused);
  });
});

describe('the secrets of a route', () => {
  it('are all accepted while they rotate', () => {
    const rotating = routeOf({ secret: ['new', 'old'] });
    expect(verdict(rotating, githubHeaders('new'))).toBe('ok');
    expect(verdict(rotating, githubHeaders('old'))).toBe('ok');
    expect(verdict(rotating, githubHeaders('older'))).toBe(refused);
  });

  it('fall back to the secret of the config; a route with its own secret does not use the fallback', () => {
    const config = { secret: 'shared' };
    expect(verdict(routeOf({ secret: undefined }, config), githubHeaders('shared'))).toBe('ok');
    expect(verdict(routeOf({ secret: 'own' }, config), githubHeaders('shared'))).toBe(refused);
  });

  it('refuse everything if there is none at all', () => {
    expect(verdict(routeOf({ secret: undefined }), githubHeaders(''))).toBe(refused);
    expect(verdict(routeOf({ secret: undefined }), {})).toBe(refused);
  });

  it('are not needed with INSECURE_NO_AUTH; otherwise a request without headers is refused', () => {
    expect(verdict(routeOf({ secret: 'INSECURE_NO_AUTH' }), {})).toBe('ok');
    expect(verdict(route, {})).toBe(refused);
    expect(verdict(routeOf({ secret: ['INSECURE_NO_AUTH', 'x'] }), {})).toBe(refused);
  });
});

describe('what the operator is told about a refusal', () => {
  const why = (
    route: Route,
    headers: Record<string, string>,
    body: string | Buffer = BODY,
  ): string | null => {
    try {
      authenticate(receivedOf(route, headers, body));
    } catch (error) {
      if (error instanceof Refusal) return error.detail;
      throw error;
    }
    return 'accepted';
  };
  const standard = (secret: string, at: number) => ({
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(at),
    'webhook-signature': `v1,${createHmac('sha256', secret).update(`msg_1.${at}.${BODY}`).digest('base64')}`,
  });

  it('which header is missing', () => {
    expect(why(route, {})).toBe('the request has no header with a signature or a token');
    expect(why(route, { 'x-github-event': 'push' })).toMatch(/^the header X-Hub-Signature-256 is missing: /);
    expect(why(route, { 'x-gitlab-event': 'Push Hook' })).toMatch(/^the header X-Gitlab-Token is missing/);
    expect(why(route, { 'x-webhook-signature-v2': hex('s3cret', BODY) })).toBe(
      'the header X-Webhook-Timestamp is missing',
    );
    const { 'webhook-id': _id, ...withoutId } = standard('s3cret', NOW);
    expect(why(route, withoutId)).toBe('the header webhook-id is missing');
    expect(why(routeOf({ auth: 'hmac' }), githubHeaders('s3cret'))).toBe(
      'the header X-Webhook-Signature-V2 is missing, which `auth: hmac` of the route needs; the request has ' +
        'X-Hub-Signature-256 (`auth: github`)',
    );
    expect(why(routeOf({ auth: 'twilio' }), { 'x-twilio-signature': 'AAAA' })).toMatch(/set `public_url`/);
  });

  it('how far the timestamp is off', () => {
    const off = (seconds: string) =>
      `${seconds}, and at most 300 s are allowed: check the clocks of both sides`;
    expect(why(route, timestampedHeaders('s3cret', NOW - 301))).toBe(off('X-Webhook-Timestamp is 301 s old'));
    expect(why(route, timestampedHeaders('s3cret', NOW + 4_000))).toBe(
      off('X-Webhook-Timestamp is 4000 s in the future'),
    );
    expect(why(route, standard('s3cret', NOW - 900))).toBe(off('webhook-timestamp is 900 s old'));
    const stripe = (at: number) => ({ 'stripe-signature': `t=${at},v1=${hex('s3cret', `${at}.${BODY}`)}` });
    expect(why(route, stripe(NOW - 3_600))).toBe(off('the time in Stripe-Signature is 3600 s old'));
    expect(why(route, { 'stripe-signature': 'v1=00' })).toBe('Stripe-Signature has no time (`t=`)');
    const slack = (at: number) => ({
      'x-slack-request-timestamp': String(at),
      'x-slack-signature': `v0=${hex('s3cret', `v0:${at}:${BODY}`)}`,
    });
    expect(why(route, slack(NOW + 301))).toBe(off('X-Slack-Request-Timestamp is 301 s in the future'));
    expect(why(route, timestampedHeaders('s3cret', '1e9'))).toBe(
      'X-Webhook-Timestamp is not a time in Unix seconds',
    );
    const linear = JSON.stringify({ webhookTimestamp: NOW_MS - 61_000 });
    expect(why(route, { 'linear-signature': hex('s3cret', linear) }, linear)).toMatch(
      /^`webhookTimestamp` in the body is 61 s old, and at most 60 s/,
    );
    expect(why(route, { 'linear-signature': hex('wrong', linear) }, linear)).toMatch(/does not match/);
  });

  it('what is wrong with a signature that the route describes', () => {
    const described = routeOf({
      auth: {
        scheme: 'hmac',
        header: 'X-Acme-Signature',
        prefix: 'v1=',
        signed: '{id}.{timestamp}.{body}',
        timestamp_header: 'X-Acme-Time',
        id_header: 'X-Acme-Id',
        tolerance_seconds: 60,
      },
    });
    const sent = { 'x-acme-signature': 'v1=00', 'x-acme-time': String(NOW), 'x-acme-id': 'd-1' };
    expect(why(described, {})).toContain('X-Acme-Signature is missing');
    expect(why(described, { ...sent, 'x-acme-time': String(NOW - 61) })).toMatch(
      /^X-Acme-Time is 61 s old, and at most 60 s/,
    );
    expect(why(described, { ...sent, 'x-acme-time': 'noon' })).toMatch(/^X-Acme-Time is neither/);
    expect(why(described, { ...sent, 'x-acme-id': '' })).toBe('the header X-Acme-Id is missing');
    expect(why(described, { ...sent, 'x-acme-signature': '00' })).toBe(
      'X-Acme-Signature does not begin with `v1=`',
    );
    expect(why(described, sent)).toMatch(/^X-Acme-Signature does not match the only secret/);
    const discord = routeOf({ auth: 'discord', secret: 'ab'.repeat(32) });
    const signed = { 'x-signature-ed25519': '00', 'x-signature-timestamp': String(NOW - 301) };
    expect(why(discord, signed)).toMatch(/^X-Signature-Timestamp is 301 s old/);
  });

  it('that no listed secret matched', () => {
    expect(why(route, githubHeaders('wrong'))).toBe(
      'X-Hub-Signature-256 does not match the only secret of the route: compare with the secret at the sender',
    );
    expect(why(routeOf({ secret: ['new', 'old'] }), timestampedHeaders('older'))).toMatch(
      /^X-Webhook-Signature-V2 does not match any of the 2 secrets of the route/,
    );
    expect(why(routeOf({ secret: undefined }), githubHeaders(''))).toMatch(/^the route has no secret/);
  });

  it('never a signature, a token or a secret', () => {
    const attempts: Record<string, string>[] = [
      githubHeaders('wrong'),
      timestampedHeaders('wrong'),
      standard('wrong', NOW),
      { authorization: 'Bearer wrong-token' },
      { authorization: `Basic ${Buffer.from('u:wrong-token').toString('base64')}` },
      { 'x-gitlab-token': 'wrong-token' },
      { 'x-hub-signature-256': 'no-prefix-wrong-token' },
    ];
    for (const headers of attempts) {
      const text = why(route, headers) ?? '';
      for (const value of Object.values(headers)) expect(text).not.toContain(value);
      expect(text).not.toMatch(/s3cret|wrong-token/);
    }
  });
});
