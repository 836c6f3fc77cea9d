import { createHmac, generateKeyPairSync, sign as signWithKey } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { eventually } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sign as octokitSign } from '@octokit/webhooks-methods';
import Stripe from 'stripe';
import { Webhook as SvixWebhook } from 'svix';
import { startIngress, type TestIngress } from '../../testing/ingress.ts';
import { rawBytes, rawRequest } from '../../testing/raw-request.ts';

// Requests signed by the providers' own libraries, over real HTTP, and senders that are slow, broken or late.

const SVIX_SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
const STRIPE_SECRET = 'whsec_of_stripe';
const discordKeys = generateKeyPairSync('ed25519');
const config = {
  public_url: 'https://hooks.example.com/',
  limits: { rate_limit: 0 },
  agents: { default: {} },
  routes: {
    svix: { secret: SVIX_SECRET, events: ['invoice.paid'] },
    stripe: { secret: ['old', STRIPE_SECRET], auth: 'stripe' },
    slack: { secret: 'slack-secret', events: ['app_mention'] },
    github: { secret: 'github-secret', events: ['pull_request'], prompt: 'PR {number}' },
    gitlab: { secret: 'gitlab-token', events: ['merge_request'] },
    twilio: { secret: 'twilio-token', prompt: '{Body}' },
    plain: { secret: 'plain-secret', prompt: '{0.text}' },
    legacy: { secret: 'legacy-secret' },
    other: { secret: 'legacy-secret' },
    hmac: { secret: 'hmac-secret', auth: 'hmac' },
    'hmac-keyed': { secret: 'hmac-secret', auth: 'hmac', session_key: '{ref}' },
    linear: { secret: 'linear-secret', auth: 'linear' },
    sentry: { secret: 'sentry-secret', auth: 'sentry', events: ['issue.created'] },
    pagerduty: { secret: 'pagerduty-secret', auth: 'pagerduty', events: ['incident.triggered'] },
    typeform: { secret: 'typeform-secret', auth: 'typeform' },
    telegram: { secret: 'telegram-secret', auth: 'telegram', events: ['message'], prompt: '{message.text}' },
    bitbucket: { secret: 'bitbucket-secret', auth: 'bitbucket', events: ['pullrequest:created'] },
    zendesk: { secret: 'zendesk-secret', auth: 'zendesk' },
    discord: {
      secret: discordKeys.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex'),
      auth: 'discord',
      prompt: '{event.type}',
    },
    described: {
      secret: 'described-secret',
      auth: {
        scheme: 'hmac',
        header: 'X-Acme-Signature',
        algorithm: 'sha512',
        encoding: 'base64',
        signed: '{timestamp}.{body}',
        timestamp_header: 'X-Acme-Time',
        id_header: 'X-Acme-Id',
        event_header: 'X-Acme-Event',
      },
      prompt: '{text} in {headers.x-acme-region} by {headers.x-acme-signature}',
    },
    token: {
      secret: 'acme-token',
      auth: { scheme: 'token', header: 'X-Acme-Key' },
      delivery_id: '{headers.x-acme-run}-{event-data.id}',
      prompt: '{headers.x-acme-key}',
    },
  },
};

let database: TestDatabase;
let ingress: TestIngress;

beforeAll(async () => {
  database = await createTestDatabase();
  ingress = await startIngress({ databaseUrl: database.url, config });
});

afterAll(async () => {
  await ingress?.close();
  await database?.drop();
});

async function post(route: string, headers: Record<string, string>, body: string) {
  const answer = await rawRequest({
    url: `${ingress.baseUrl}/webhooks/${route}`,
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  return { ...answer, body: JSON.parse(answer.text) as Record<string, string> };
}

async function inputOf(sessionId: string | undefined): Promise<unknown> {
  const rows = await database.query<{ data: { input: string } }>(
    "SELECT data FROM angelia.events WHERE stream_id = $1 AND type = 'turn.requested'",
    [sessionId],
  );
  return rows[0]?.data.input;
}

const now = () => Math.floor(Date.now() / 1000);
const hex = (secret: string, text: string) => createHmac('sha256', secret).update(text).digest('hex');

describe('a webhook of', () => {
  it('Svix is taken once, under its own id', async () => {
    const body = '{"type":"invoice.paid"}';
    const at = new Date();
    const headers = {
      'svix-id': 'msg_1',
      'svix-timestamp': String(Math.floor(at.getTime() / 1000)),
      'svix-signature': new SvixWebhook(SVIX_SECRET).sign('msg_1', at, body),
    };
    const first = await post('svix', headers, body);
    expect([first.status, first.body.delivery_id, first.body.event]).toEqual([202, 'msg_1', 'invoice.paid']);
    const again = await post('svix', headers, body);
    expect([again.status, again.body.session_id]).toEqual([200, first.body.session_id]);
    expect((await post('svix', headers, `${body} `)).status).toBe(401);
  });

  it('Stripe is recognised by the id in its body, whatever its signature', async () => {
    const payload = '{"id":"evt_42","object":"event","type":"charge.succeeded"}';
    const signed = (timestamp: number) => ({
      'stripe-signature': Stripe.webhooks.generateTestHeaderString({
        payload,
        secret: STRIPE_SECRET,
        timestamp,
      }),
    });
    const first = await post('stripe', signed(now()), payload);
    expect([first.status, first.body.delivery_id]).toEqual([202, 'evt_42']);
    expect((await post('stripe', signed(now() - 5), payload)).body.status).toBe('duplicate');
    expect((await post('stripe', signed(now() - 301), payload)).status).toBe(401);
  });

  it('Stripe, Slack or Svix cannot become another delivery through unsigned headers', async () => {
    const at = new Date();
    const seconds = String(Math.floor(at.getTime() / 1000));
    const stripe = '{"id":"evt_77","object":"event","type":"charge.failed"}';
    const slack = '{"type":"event_callback","event_id":"Ev77","event":{"type":"app_mention"}}';
    const svix = '{"type":"invoice.paid"}';
    const captured: [string, Record<string, string>, string][] = [
      [
        'stripe',
        {
          'stripe-signature': Stripe.webhooks.generateTestHeaderString({
            payload: stripe,
            secret: STRIPE_SECRET,
          }),
        },
        stripe,
      ],
      [
        'slack',
        {
          'x-slack-request-timestamp': seconds,
          'x-slack-signature': `v0=${hex('slack-secret', `v0:${seconds}:${slack}`)}`,
        },
        slack,
      ],
      [
        'svix',
        {
          'webhook-id': 'msg_77',
          'webhook-timestamp': seconds,
          'webhook-signature': new SvixWebhook(SVIX_SECRET).sign('msg_77', at, svix),
        },
        svix,
      ],
    ];
    for (const [route, headers, body] of captured) {
      const spoofed = { ...headers, 'x-event-type': 'foreign', 'x-github-event': 'foreign' };
      const first = await post(route, spoofed, body);
      expect([route, first.status, first.body.event]).toEqual([
        route,
        202,
        expect.not.stringMatching('foreign'),
      ]);
      for (const name of [
        'x-github-delivery',
        'idempotency-key',
        'svix-id',
        'linear-delivery',
        'x-request-id',
      ]) {
        const again = await post(route, { ...headers, [name]: `replay-${name}` }, body);
        expect([route, name, again.status, again.body.session_id]).toEqual([
          route,
          name,
          200,
          first.body.session_id,
        ]);
      }
    }
  });

  it('Slack: a signed handshake is answered, events are taken, forms are read', async () => {
    const send = (body: string, headers = {}, at = now()) =>
      post(
        'slack',
        {
          'x-slack-request-timestamp': String(at),
          'x-slack-signature': `v0=${hex('slack-secret', `v0:${at}:${body}`)}`,
          ...headers,
        },
        body,
      );
    const handshake = '{"type":"url_verification","challenge":"c-123"}';
    const answered = await send(handshake);
    expect([answered.status, answered.body]).toEqual([200, { challenge: 'c-123' }]);
    expect((await send(handshake, {}, now() - 301)).status).toBe(401);
    expect((await send(handshake, { 'x-slack-signature': 'v0=00' })).status).toBe(401);
    const mention = '{"type":"event_callback","event_id":"Ev7","event":{"type":"app_mention"}}';
    const taken = await send(mention);
    expect([taken.status, taken.body.delivery_id, taken.body.event]).toEqual([202, 'Ev7', 'app_mention']);
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const action = `payload=${encodeURIComponent('{"type":"block_actions"}')}`;
    expect((await send(action, form)).body).toEqual({ status: 'ignored', reason: 'event', route: 'slack' });
  });

  it('GitHub is the same as a form and as JSON', async () => {
    const json = '{"action":"opened","number":7}';
    for (const [type, body] of [
      ['application/json', json],
      ['application/x-www-form-urlencoded', `payload=${encodeURIComponent(json)}`],
    ] as const) {
      const headers = {
        'content-type': type,
        'x-hub-signature-256': await octokitSign('github-secret', body),
        'x-github-event': 'pull_request',
        'x-github-delivery': type,
      };
      const answer = await post('github', headers, body);
      expect([type, answer.status]).toEqual([type, 202]);
      expect(await inputOf(answer.body.session_id)).toBe('PR 7');
    }
  });

  it('GitLab is taken by its token, under the short name of its event', async () => {
    const headers = { 'x-gitlab-token': 'gitlab-token', 'x-gitlab-event': 'Merge Request Hook' };
    const answer = await post('gitlab', { ...headers, 'x-gitlab-event-uuid': 'u-1' }, '{"a":1}');
    expect([answer.status, answer.body.delivery_id]).toEqual([202, 'u-1']);
    const other = await post('gitlab', { ...headers, 'x-gitlab-event-uuid': 'u-1' }, '{"a":2}');
    expect(other.status).toBe(202);
    expect((await post('gitlab', { ...headers, 'x-gitlab-event-uuid': 'u-1' }, '{"a":1}')).body.status).toBe(
      'duplicate',
    );
    expect((await post('gitlab', { ...headers, 'x-gitlab-event': 'Push Hook' }, '{}')).body.reason).toBe(
      'event',
    );
    expect((await post('gitlab', { 'x-gitlab-token': 'gitlab-tokem' }, '{}')).status).toBe(401);
  });

  it('Twilio is authenticated by the public URL, not by its Host header', async () => {
    const signed = (url: string) => ({
      'content-type': 'application/x-www-form-urlencoded',
      'i-twilio-idempotency-token': url,
      'x-twilio-signature': createHmac('sha1', 'twilio-token').update(`${url}Bodyhi`).digest('base64'),
    });
    const good = await post('twilio?a=b', signed('https://hooks.example.com/webhooks/twilio?a=b'), 'Body=hi');
    expect(good.status).toBe(202);
    expect(await inputOf(good.body.session_id)).toBe('hi');
    const elsewhere = signed('https://elsewhere.example.com/webhooks/twilio?a=b');
    for (const name of ['host', 'x-forwarded-host']) {
      const answer = await post('twilio?a=b', { ...elsewhere, [name]: 'elsewhere.example.com' }, 'Body=hi');
      expect([name, answer.status]).toEqual([name, 401]);
    }
  });

  it('Twilio is one session, in whatever order and encoding its fields are repeated', async () => {
    const url = 'https://hooks.example.com/webhooks/twilio';
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'x-twilio-signature': createHmac('sha1', 'twilio-token')
        .update(`${url}Bodyhi youMessageSidSM9`)
        .digest('base64'),
    };
    const first = await post('twilio', headers, 'MessageSid=SM9&Body=hi+you');
    expect([first.status, first.body.delivery_id]).toEqual([202, 'SM9']);
    for (const body of [
      'Body=hi+you&MessageSid=SM9',
      'Body=hi%20you&MessageSid=SM9&',
      'Body=hi+you&MessageSid=SM9&Body=hi+you',
      'MessageSidS=M9&Body=hi+you',
    ]) {
      const again = await post('twilio', { ...headers, 'idempotency-key': body }, body);
      expect([body, again.body.status, again.body.session_id]).toEqual([
        body,
        'duplicate',
        first.body.session_id,
      ]);
    }
  });

  const ref = '{"ref":"main"}';
  const stamped = (at: number) => ({
    'x-webhook-timestamp': String(at),
    'x-webhook-signature-v2': hex('hmac-secret', `${at}.${ref}`),
  });
  const issue = (at: number) => `{"type":"Issue","webhookTimestamp":${at}}`;
  it.each<[string, string, (n: number) => [Record<string, string>, string]]>([
    ['hmac', 'x-request-id', (n) => [stamped(now() - n), ref]],
    ['hmac-keyed', 'x-request-id', (n) => [stamped(now() - n), ref]],
    [
      'linear',
      'linear-delivery',
      (n) => {
        const body = issue(Date.now() - n);
        return [{ 'linear-signature': hex('linear-secret', body) }, body];
      },
    ],
  ])('%s is one session for each signature, and for each id', async (route, header, signed) => {
    const [headers, body] = signed(20);
    const sendAs = (id: string, also = {}) => post(route, { ...headers, [header]: id, ...also }, body);
    const first = await sendAs('d-1');
    expect([first.status, first.body.delivery_id]).toEqual([202, 'd-1']);
    // Captured, and sent again under another id, under several, and under none.
    const { [header]: _, ...bare } = { [header]: '', ...headers };
    for (const again of [
      await sendAs('d-1'),
      await sendAs('d-2'),
      await sendAs('d-1', { 'idempotency-key': 'other', 'x-github-delivery': 'other' }),
      await post(route, bare, body),
    ]) {
      expect([again.status, again.body.status, again.body.session_id]).toEqual([
        200,
        'duplicate',
        first.body.session_id,
      ]);
    }
    // The sender's own repeat: signed again, under the same id.
    const [later, laterBody] = signed(10);
    const repeat = await post(route, { ...later, [header]: 'd-1' }, laterBody);
    expect([repeat.body.status, repeat.body.session_id]).toEqual(['duplicate', first.body.session_id]);
    // Another delivery.
    const [next, nextBody] = signed(5);
    expect((await post(route, { ...next, [header]: 'd-3' }, nextBody)).status).toBe(202);
  });

  it('a captured request that is sent many times at once, each time under another id, is one session', async () => {
    const headers = stamped(now() - 40);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => post('hmac', { ...headers, 'x-request-id': `at-once-${n}` }, ref)),
    );
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    expect(new Set(answers.map(({ body }) => body.session_id)).size).toBe(1);
  });

  it('a sender whose body is a list is taken, and the template can use it', async () => {
    const answer = await post('plain', { authorization: 'Bearer plain-secret' }, '[{"text":"first"}]');
    expect(await inputOf(answer.body.session_id)).toBe('first');
  });

  it('a sender without timestamps is taken, with one warning per route', async () => {
    const send = (route: string, body: string) =>
      post(route, { 'x-webhook-signature': hex('legacy-secret', body) }, body);
    for (const [route, body] of [
      ['legacy', '{"n":1}'],
      ['legacy', '{"n":2}'],
      ['other', '{"n":1}'],
    ] as const) {
      expect((await send(route, body)).status).toBe(202);
    }
    const warnings = ingress
      .logged()
      .split('\n')
      .filter((line) => line.includes('X-Webhook-Signature has no timestamp'))
      .map((line) => (JSON.parse(line) as { route: string }).route);
    expect(warnings).toEqual(['legacy', 'other']);
  });
});

describe('a webhook of a sender without code of its own', () => {
  it.each([
    {
      route: 'sentry',
      headers: { 'request-id': 'sentry-1', 'sentry-hook-resource': 'issue' },
      signature: 'sentry-hook-signature',
      body: '{"action":"created"}',
      expected: ['sentry-1', 'issue'],
    },
    {
      route: 'pagerduty',
      headers: {},
      signature: 'x-pagerduty-signature',
      prefix: 'v1=',
      body: '{"event":{"id":"01PD","event_type":"incident.triggered"}}',
      expected: ['01PD', 'incident.triggered'],
    },
    {
      route: 'typeform',
      headers: {},
      signature: 'typeform-signature',
      prefix: 'sha256=',
      encoding: 'base64' as const,
      body: '{"event_id":"tf-1","event_type":"form_response"}',
      expected: ['tf-1', 'form_response'],
    },
    {
      route: 'bitbucket',
      headers: { 'x-request-uuid': 'bb-1', 'x-event-key': 'pullrequest:created' },
      signature: 'x-hub-signature',
      prefix: 'sha256=',
      body: '{}',
      expected: ['bb-1', 'pullrequest:created'],
    },
  ])('$route is taken once, under its own id and event', async (sender) => {
    const { route, headers, signature, prefix = '', encoding = 'hex', body, expected } = sender;
    const proof = createHmac('sha256', `${route}-secret`).update(body).digest(encoding);
    const sent: Record<string, string> = { ...(headers as object), [signature]: prefix + proof };
    const first = await post(route, sent, body);
    expect([first.status, first.body.delivery_id, first.body.event]).toEqual([202, ...expected]);
    expect((await post(route, sent, body)).body.status).toBe('duplicate');
    expect((await post(route, sent, `${body} `)).status).toBe(401);
  });

  it('Telegram is recognised by its update, and its kind is the event', async () => {
    const headers = { 'x-telegram-bot-api-secret-token': 'telegram-secret' };
    const first = await post('telegram', headers, '{"update_id":77,"message":{"text":"hello"}}');
    expect([first.status, first.body.delivery_id, first.body.event]).toEqual([202, '77', 'message']);
    expect((await post('telegram', headers, '{"update_id":77,"message":{}}')).body.status).toBe('duplicate');
    expect((await post('telegram', headers, '{"update_id":78,"callback_query":{}}')).body.reason).toBe(
      'event',
    );
  });

  it('a captured request of Zendesk does not become another delivery', async () => {
    const time = new Date().toISOString();
    const headers = (id: string) => ({
      'x-zendesk-webhook-signature-timestamp': time,
      'x-zendesk-webhook-signature': createHmac('sha256', 'zendesk-secret')
        .update(`${time}{}`)
        .digest('base64'),
      'x-zendesk-webhook-invocation-id': id,
    });
    const first = await post('zendesk', headers('inv-1'), '{}');
    expect([first.status, first.body.delivery_id]).toEqual([202, 'inv-1']);
    expect((await post('zendesk', headers('inv-2'), '{}')).body).toMatchObject({
      status: 'duplicate',
      session_id: first.body.session_id,
    });
  });

  it('Discord is answered to both kinds of PING, and its events are taken', async () => {
    const signed = (body: string) => {
      const time = String(now());
      const signature = signWithKey(null, Buffer.from(time + body), discordKeys.privateKey).toString('hex');
      return { 'x-signature-timestamp': time, 'x-signature-ed25519': signature };
    };
    const send = (body: string, headers = signed(body)) =>
      rawRequest({
        url: `${ingress.baseUrl}/webhooks/discord`,
        headers: { 'content-type': 'application/json', ...headers },
        body,
      });
    const interaction = await send('{"type":1,"id":"1","token":"t"}');
    expect([interaction.status, interaction.text]).toEqual([200, '{"type":1}']);
    const events = await send('{"version":1,"type":0}');
    expect([events.status, events.text]).toEqual([204, '']);
    // Discord checks that a wrong signature is refused.
    expect((await send('{"version":1,"type":0}', signed('{}'))).status).toBe(401);

    const event = '{"version":1,"type":1,"event":{"type":"APPLICATION_AUTHORIZED","timestamp":"2026-11-18"}}';
    const taken = await post('discord', signed(event), event);
    expect([taken.status, taken.body.event]).toEqual([202, 'APPLICATION_AUTHORIZED']);
    expect(await inputOf(taken.body.session_id)).toBe('APPLICATION_AUTHORIZED');
    const command = '{"type":2,"id":"9001","token":"t","data":{"name":"deploy"}}';
    expect((await post('discord', signed(command), command)).body).toMatchObject({
      delivery_id: '9001',
      event: 'APPLICATION_COMMAND',
    });
  });

  it('any HMAC is taken as the route describes it; templates read headers, but not the signature', async () => {
    const time = String(now());
    const body = '{"text":"deployed"}';
    const headers = (id: string) => ({
      'x-acme-signature': createHmac('sha512', 'described-secret').update(`${time}.${body}`).digest('base64'),
      'x-acme-time': time,
      'x-acme-id': id,
      'x-acme-event': 'deploy',
      'x-acme-region': 'eu-1',
    });
    const first = await post('described', headers('acme-1'), body);
    expect([first.status, first.body.delivery_id, first.body.event]).toEqual([202, 'acme-1', 'deploy']);
    expect(await inputOf(first.body.session_id)).toBe('deployed in eu-1 by {headers.x-acme-signature}');
    // The id is not signed: of all ids with the same content the first counts.
    expect((await post('described', headers('acme-2'), body)).body.status).toBe('duplicate');
  });

  it('any token is taken; delivery_id reads headers, and the prompt never the token', async () => {
    const headers = (run: string) => ({ 'x-acme-key': 'acme-token', 'x-acme-run': run });
    const body = '{"event-data":{"id":"m-1"}}';
    const first = await post('token', headers('1'), body);
    expect([first.status, first.body.delivery_id]).toEqual([202, '1-m-1']);
    expect(await inputOf(first.body.session_id)).toBe('{headers.x-acme-key}');
    expect((await post('token', headers('1'), body)).body.status).toBe('duplicate');
    expect((await post('token', headers('2'), body)).body.delivery_id).toBe('2-m-1');
  });
});

describe('a sender that is too slow', () => {
  // Of its own: on a busy machine other senders would be too slow for these limits.
  let strict: TestIngress;
  beforeAll(async () => {
    const timeLimits = { requestMs: 700, headersMs: 500, checkMs: 100 };
    strict = await startIngress({ databaseUrl: database.url, config, timeLimits });
  });
  afterAll(() => strict?.close());

  const head = 'POST /webhooks/plain HTTP/1.1\r\nhost: x\r\nauthorization: Bearer plain-secret\r\n';

  it.each([
    ['in its headers', `${head}x-slow: `],
    ['in its body', `${head}content-type: application/json\r\ncontent-length: 100\r\n\r\n{"a":`],
    [
      'in a chunk',
      `${head}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"a":\r\n`,
    ],
  ])('%s is answered 408 and cut off', async (_what, bytes) => {
    const text = await rawBytes(strict.port, bytes);
    expect(text).toMatch(/^HTTP\/1.1 408 [\s\S]*\{"error":"[^"]+"\}$/);
  });

  it('and sends a byte now and then is cut off too', async () => {
    const socket = connect(strict.port, '127.0.0.1');
    const received: Buffer[] = [];
    socket.on('data', (part) => received.push(part));
    socket.on('error', () => {});
    let closed = false;
    socket.on('close', () => {
      closed = true;
    });
    socket.write(`${head}content-type: application/json\r\ncontent-length: 100000\r\n\r\n`);
    const drip = setInterval(() => socket.write(' '), 50);
    try {
      await eventually(() => closed, { describe: 'the slow sender is cut off' });
    } finally {
      clearInterval(drip);
    }
    expect(Buffer.concat(received).toString()).toMatch(/^HTTP\/1.1 408 /);
  });
});

describe('while ingress closes', () => {
  it('requests on an open connection are taken, or refused in the form of the interface', async () => {
    const closing = await startIngress({ databaseUrl: database.url, config });
    const request = (body: string, more = '') =>
      `POST /webhooks/plain HTTP/1.1\r\nhost: x\r\nauthorization: Bearer plain-secret\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n${more}\r\n`;
    const socket: Socket = connect(closing.port, '127.0.0.1');
    let text = '';
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    const ended = new Promise<void>((resolve) => socket.on('close', () => resolve()));
    // A request in flight keeps the connection open; the next one is pipelined behind it while the server closes.
    const first = '[{"text":"before"}]';
    const second = '[{"text":"while closing"}]';
    socket.write(request(first, 'expect: 100-continue\r\n'));
    await eventually(() => text.startsWith('HTTP/1.1 100 '));
    const closed = closing.close();
    await eventually(() => refusesConnections(closing.port));
    socket.write(first + request(second) + second);
    await Promise.all([closed, ended]);
    const [, ...answers] = text.split(/(?=HTTP\/1\.1 )/);
    expect(answers[0]).toMatch(/^HTTP\/1\.1 202 /);
    for (const answer of answers.slice(1)) {
      expect(answer).toMatch(/^HTTP\/1\.1 (202 |503 [\s\S]*retry-after: \d+)/i);
      expect(answer).not.toContain('statusCode');
    }
  });
});

function refusesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(port, '127.0.0.1', () => {
      probe.destroy();
      resolve(false);
    });
    probe.on('error', () => resolve(true));
  });
}
