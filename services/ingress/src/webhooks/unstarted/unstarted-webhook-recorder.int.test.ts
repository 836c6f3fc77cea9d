import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { eventually, signatureHeaders } from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ADMIN_TOKEN, startIngress, type TestIngress } from '../../testing/ingress.ts';
import { type SeverableProxy, severable } from '../../testing/severable-proxy.ts';

const SECRET = 'webhook-secret-not-to-be-kept';
const config = {
  secret: SECRET,
  limits: { max_body_bytes: 2_000 },
  agents: { default: {} },
  routes: {
    hook: { prompt: '{text}', events: ['push', 'deploy'], filters: [{ field: 'text', not_equals: 'skip' }] },
    flooded: {},
    old: {},
    scarce: { rate_limit: 1 },
    closed: { enabled: false },
  },
};

let database: TestDatabase;
let wire: SeverableProxy;
let here: TestIngress;
let there: TestIngress;

beforeAll(async () => {
  database = await createTestDatabase();
  wire = await severable(database.url);
  here = await startIngress({ databaseUrl: wire.url, config });
  there = await startIngress({ databaseUrl: database.url, config });
});

afterEach(() => wire.restore());

afterAll(async () => {
  await here?.close();
  await there?.close();
  await wire?.cut();
  await database?.drop();
});

interface Sent {
  route?: string;
  secret?: string;
  deliveryId?: string;
  event?: string;
  body?: string;
  headers?: Record<string, string>;
}

async function post({ route = 'hook', secret = SECRET, body = '{"text":"hello"}', ...more }: Sent) {
  const response = await fetch(`${here.baseUrl}/webhooks/${route}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...signatureHeaders({ secret, event: 'push', ...more }, body),
      ...more.headers,
    },
    body,
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

type Item = Record<string, unknown>;

async function get(path: string, ingress = here): Promise<{ status: number; items: Item[]; text: string }> {
  const response = await fetch(new URL(path, ingress.baseUrl), {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  const text = await response.text();
  return { status: response.status, items: (JSON.parse(text) as { items: Item[] }).items, text };
}

describe('a webhook that starts no session', () => {
  it.each<[string, Sent, Item]>([
    [
      'whose event is not wanted',
      { event: 'ping', deliveryId: 'd-event' },
      {
        route: 'hook',
        outcome: 'ignored',
        reason: 'event',
        status: 200,
        event: 'ping',
        detail: 'the event was "ping"; `events` of the route wants push, deploy',
      },
    ],
    [
      'that a filter holds back',
      { body: '{"text":"skip"}', deliveryId: 'd-filter' },
      {
        route: 'hook',
        outcome: 'ignored',
        reason: 'filter',
        status: 200,
        event: 'push',
        detail: 'filters.0 (text not_equals "skip"): text was "skip"',
      },
    ],
    [
      'with a wrong signature',
      { secret: 'wrong-secret', deliveryId: 'd-401' },
      {
        route: 'hook',
        outcome: 'unauthorized',
        reason: 'unauthorized',
        status: 401,
        event: 'push',
        detail:
          'X-Hub-Signature-256 does not match the only secret of the route: compare with the secret at the sender',
      },
    ],
    [
      'that is no JSON',
      { body: '{', deliveryId: 'd-400' },
      { route: 'hook', outcome: 'bad_request', status: 400 },
    ],
    [
      'of another type',
      { headers: { 'content-type': 'text/csv' }, deliveryId: 'd-415' },
      { route: 'hook', outcome: 'bad_request', reason: 'unsupported_type', status: 415 },
    ],
    [
      'that is too large',
      { body: JSON.stringify({ text: 'x'.repeat(3_000) }), deliveryId: 'd-413' },
      { route: 'hook', outcome: 'bad_request', reason: 'body_too_large', status: 413 },
    ],
    [
      'to a disabled route',
      { route: 'closed', deliveryId: 'd-403' },
      { route: 'closed', outcome: 'disabled', reason: 'route_disabled', status: 403 },
    ],
    [
      'to an unknown route',
      { route: 'hoook', deliveryId: 'd-404' },
      {
        route: null,
        outcome: 'unknown_route',
        reason: 'unknown_route',
        status: 404,
        requested_route: 'hoook',
      },
    ],
  ])('%s is listed with the reason', async (_what, sent, expected) => {
    const since = Date.now();
    const { status, body } = await post(sent);
    expect(status).toBe(expected.status);
    // The sender learns nothing of it.
    if (expected.detail !== undefined) expect(JSON.stringify(body)).not.toContain(expected.detail);
    const { items } = await get('/v1/webhooks');
    const item = items.find(({ delivery_id }) => delivery_id === sent.deliveryId);
    expect(item).toMatchObject({
      session_id: null,
      requested_route: null,
      source: '127.0.0.1',
      detail: expect.any(String),
      ...expected,
    });
    expect(Date.parse(item?.received_at as string)).toBeGreaterThanOrEqual(since);
  });

  it('because it is a duplicate is listed with the session that it started first', async () => {
    const first = await post({ deliveryId: 'twice' });
    await post({ deliveryId: 'twice' });
    const { items } = await get('/v1/webhooks?route=hook&outcome=duplicate');
    expect(items).toEqual([
      expect.objectContaining({
        delivery_id: 'twice',
        session_id: first.body.session_id,
        outcome: 'duplicate',
        status: 200,
      }),
    ]);
  });

  it('because there were too many is listed', async () => {
    await post({ route: 'scarce', deliveryId: 'one' });
    await post({ route: 'scarce', deliveryId: 'two' });
    const { items } = await get('/v1/webhooks?route=scarce');
    expect(items).toEqual([
      expect.objectContaining({ delivery_id: 'two', outcome: 'rate_limited', status: 429 }),
    ]);
  });

  it('does not include one that started a session', async () => {
    await post({ deliveryId: 'accepted-one' });
    expect((await get('/v1/webhooks')).text).not.toContain('accepted-one');
  });

  it('is listed by another replica within two seconds, the newest first', async () => {
    for (const n of [1, 2, 3]) {
      await post({ event: 'other', deliveryId: `order-${n}` });
      // The list is sorted by the millisecond: two webhooks in the same one may come in any order.
      const answeredAt = Date.now();
      await eventually(() => Date.now() > answeredAt);
    }
    const seen = await eventually(async () => {
      const { items } = await get('/v1/webhooks?route=hook&outcome=ignored&limit=3', there);
      return items[0]?.delivery_id === 'order-3' ? items : null;
    });
    expect(seen.map(({ delivery_id }) => delivery_id)).toEqual(['order-3', 'order-2', 'order-1']);
  });

  it('leaves neither its body, nor its signature, nor a header that somebody else could have written', async () => {
    const body = '{"text":"skip","private":"body-content"}';
    await post({
      body,
      headers: { authorization: 'Bearer header-secret', 'x-forwarded-for': '203.0.113.7' },
    });
    await post({ body, secret: 'wrong-secret' });
    const listed = (await get('/v1/webhooks?limit=200')).text;
    const rows = JSON.stringify(await database.query('SELECT * FROM angelia.unstarted_webhooks'));
    for (const text of [listed, rows])
      expect(text).not.toMatch(/body-content|header-secret|203\.0\.113|sha256=|webhook-secret/);
  });
});

describe('a flood', () => {
  it('is counted completely, keeps the newest, and fills only its own ring', async () => {
    await post({ event: 'quiet', deliveryId: 'quiet-one' });
    const times = 300;
    for (let sent = 0; sent < times; sent += 50) {
      await Promise.all(Array.from({ length: 50 }, () => post({ route: 'flooded', secret: 'wrong' })));
    }
    await post({ route: 'flooded', secret: 'wrong', deliveryId: 'the-last' });
    const { items } = await get('/v1/webhooks?route=flooded&limit=200');
    expect(items[0]).toMatchObject({ delivery_id: 'the-last' });
    expect(items.length).toBeLessThanOrEqual(50);
    const counts = (await get('/v1/webhooks/counts?route=flooded')).items;
    expect(counts).toEqual([
      expect.objectContaining({
        route: 'flooded',
        outcome: 'unauthorized',
        reason: 'unauthorized',
        count: times + 1,
      }),
    ]);
    expect((await get('/v1/webhooks?route=hook')).text).toContain('quiet-one');
  });

  it('of unknown routes shares one ring, whatever the names', async () => {
    const names = Array.from({ length: 120 }, (_, n) => `scan-${n}`);
    for (const route of [...names, 'wp-login.php', '%2e%2e%2fetc', 'x'.repeat(90)]) {
      await post({ route, deliveryId: 'scanner' });
      if (Number(route.slice(5)) % 4 === 0) await get('/v1/webhooks'); // A flush of its own, so that all are kept.
    }
    const [row] = await database.query<{ n: string }>(
      "SELECT count(*) AS n FROM angelia.unstarted_webhooks WHERE outcome = 'unknown_route'",
    );
    expect(Number(row?.n)).toBeGreaterThan(40);
    expect(Number(row?.n)).toBeLessThanOrEqual(50);
    const [kinds] = await database.query<{ n: string }>(
      "SELECT count(*) AS n FROM angelia.unstarted_webhook_counts WHERE outcome = 'unknown_route'",
    );
    expect(Number(kinds?.n)).toBe(1);
  });
});

describe('the list', () => {
  it.each(['outcome=other', 'limit=0', 'route=%00', 'nothing=1', 'limit=201'])(
    'refuses %s with 400',
    async (query) => {
      expect((await get(`/v1/webhooks?${query}`)).status).toBe(400);
    },
  );

  it('is closed without the admin token', async () => {
    for (const path of ['/v1/webhooks', '/v1/webhooks/counts']) {
      expect((await fetch(new URL(path, here.baseUrl))).status).toBe(401);
    }
  });

  it('has what was answered while Postgres was away, after it is back', async () => {
    await wire.cut();
    expect((await post({ deliveryId: 'in-the-dark' })).status).toBe(503);
    expect((await get('/v1/webhooks')).status).toBe(503);
    await wire.restore();
    const found = await eventually(async () => {
      const { items } = await get('/v1/webhooks?outcome=unavailable');
      return items.find(({ delivery_id }) => delivery_id === 'in-the-dark');
    });
    expect(found).toMatchObject({ route: 'hook', status: 503, reason: 'log_unavailable' });
    const [row] = await database.query<{ webhooks: string }>(
      "SELECT webhooks FROM angelia.unstarted_webhook_counts WHERE outcome = 'unavailable' AND reason = 'log_unavailable'",
    );
    expect(Number(row?.webhooks)).toBe(1);
  });

  it('forgets what is older than a week', async () => {
    await post({ route: 'old', secret: 'wrong' });
    expect((await get('/v1/webhooks?route=old')).items).toHaveLength(1);
    await database.query(
      "UPDATE angelia.unstarted_webhook_counts SET last_at = now() - interval '8 days' WHERE route = 'old'",
    );
    await database.query(
      "UPDATE angelia.unstarted_webhooks SET received_at = now() - interval '8 days' WHERE route = 'old'",
    );
    const late = await startIngress({ databaseUrl: database.url, config });
    try {
      await fetch(`${late.baseUrl}/webhooks/closed`, { method: 'POST' });
      await get('/v1/webhooks', late);
      expect((await get('/v1/webhooks?route=old', late)).items).toEqual([]);
      expect((await get('/v1/webhooks/counts?route=old', late)).items).toEqual([]);
      expect((await get('/v1/webhooks?route=closed', late)).items).not.toEqual([]);
    } finally {
      await late.close();
    }
  });
});
