import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { metrics } from '@angelia/service-kit';
import { eventually, signedPost } from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Browser, newCode, signedInBrowser } from '../testing/browser.ts';
import { type EventSource, openEvents } from '../testing/event-source.ts';
import { ADMIN_TOKEN, startIngress, type TestIngress } from '../testing/ingress.ts';
import { rawRequest } from '../testing/raw-request.ts';
import { type SeverableProxy, severable } from '../testing/severable-proxy.ts';
import { digestOf } from './console-secrets.ts';

const SECRET = 'webhook-secret-of-the-config';
const PUBLIC_URL = 'https://angelia.example.com';

let database: TestDatabase;
let wire: SeverableProxy;
/** Two replicas on one database. The first has a wire that can be cut. */
let ingress: TestIngress;
let other: TestIngress;
const sources: EventSource[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  wire = await severable(database.url);
  [ingress, other] = await Promise.all([start(wire.url), start(database.url)]);
});

afterEach(() => {
  for (const source of sources.splice(0)) source.hangUp();
});

afterAll(async () => {
  await ingress?.close();
  await other?.close();
  await wire?.cut();
  await database?.drop();
});

function start(databaseUrl: string, env: Readonly<Record<string, string>> = {}): Promise<TestIngress> {
  return startIngress({
    databaseUrl,
    env,
    config: {
      secret: SECRET,
      public_url: PUBLIC_URL,
      // Every request here comes from the address of the trusted proxy, and can name its own address.
      limits: { rate_limit: 0, trusted_proxies: ['127.0.0.1'] },
      agents: { default: {} },
      routes: { hook: { prompt: '{text}' } },
    },
  });
}

async function newSession(): Promise<string> {
  const answer = await signedPost({
    baseUrl: ingress.baseUrl,
    route: 'hook',
    secret: SECRET,
    body: { text: 'x' },
  });
  return answer.sessionId;
}

function signIns(): Record<string, number> {
  return Object.fromEntries(
    [...metrics.consoleSignIns.series].map(({ labels, value }) => [String(Object.values(labels)[0]), value]),
  );
}

/** Of the cookie, without its name. */
const secretOf = ({ cookie }: Browser) => (cookie ?? '').replace('angelia_session=', '');

describe('a link', () => {
  it('leads to public_url, and signs a browser in once', async () => {
    const before = signIns();
    const answer = await new Browser().call(ingress, '/v1/console/links', {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    expect(answer.status).toBe(201);
    const url = new URL(String(answer.body.url));
    expect([url.origin, url.pathname, url.search]).toEqual([PUBLIC_URL, '/console/sign-in', '']);
    const inMs = Date.parse(String(answer.body.expires_at)) - Date.now();
    expect(Math.round(inMs / 60_000)).toBe(10);

    const browser = new Browser();
    const signedIn = await browser.signIn(ingress, { code: url.hash.slice(1) });
    expect(signedIn.status).toBe(200);
    expect(signedIn.body).toEqual({
      actor: 'console',
      csrf_token: expect.any(String),
      expires_at: expect.any(String),
    });
    expect(Math.round((Date.parse(String(signedIn.body.expires_at)) - Date.now()) / 3_600_000)).toBe(12);
    expect((await browser.call(ingress, '/v1/sessions')).status).toBe(200);

    const again = await new Browser().signIn(other, { code: url.hash.slice(1) });
    expect(again.status).toBe(401);
    expect(again.body).toMatchObject({
      code: 'link_expired',
      error: expect.stringContaining('angelia console'),
    });
    expect(again.headers['set-cookie']).toBeUndefined();
    expect((signIns().signed_in ?? 0) - (before.signed_in ?? 0)).toBe(1);
    expect((signIns().link_expired ?? 0) - (before.link_expired ?? 0)).toBe(1);
  });

  it('works no longer after ten minutes', async () => {
    const code = await newCode(ingress);
    await database.query('UPDATE angelia.console_links SET expires_at = now() WHERE digest = $1', [
      digestOf(code),
    ]);
    expect((await new Browser().signIn(ingress, { code })).body.code).toBe('link_expired');
  });

  it('can be made by a browser that is signed in, and by nobody else', async () => {
    const browser = await signedInBrowser(ingress);
    expect((await browser.call(ingress, '/v1/console/links', { method: 'POST' })).status).toBe(201);
    expect((await new Browser().call(ingress, '/v1/console/links', { method: 'POST' })).status).toBe(401);
  });

  it('is signed: a code with one character changed is wrong, not old', async () => {
    const code = await newCode(ingress);
    const changed = `${code.slice(0, -1)}${code.endsWith('A') ? 'B' : 'A'}`;
    expect((await new Browser().signIn(ingress, { code: changed })).body.code).toBe('unauthorized');
    expect((await new Browser().signIn(ingress, { code })).status).toBe(200);
  });
});

describe('the cookie', () => {
  it('is HttpOnly, SameSite=Strict, for twelve hours, and Secure unless the page is on this machine', async () => {
    const cookieOf = async (headers: Record<string, string>) =>
      String((await new Browser().signIn(ingress, undefined, headers)).headers['set-cookie']);
    const plain = /^angelia_session=[\w-]{43}\.[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200$/;
    const secure = /; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200; Secure$/;
    expect(await cookieOf({})).toMatch(plain);
    expect(await cookieOf({ host: 'localhost:8644', origin: 'http://localhost:8644' })).toMatch(plain);
    expect(await cookieOf({ host: 'angelia.example.com' })).toMatch(secure);
    // Proxies with TLS that call us by a loopback name.
    expect(await cookieOf({ origin: PUBLIC_URL })).toMatch(secure);
    expect(await cookieOf({ 'x-forwarded-proto': 'https' })).toMatch(secure);
  });

  it('lets in on every replica, also on one that started later', async () => {
    const browser = await signedInBrowser(ingress);
    const shown = await browser.call(other, '/console/session');
    expect(shown.status).toBe(200);
    expect(shown.body.csrf_token).toBe(browser.csrfToken);
    const restarted = await start(database.url);
    try {
      expect((await browser.call(restarted, '/v1/sessions')).status).toBe(200);
      expect((await browser.call(restarted, '/v1/console/links', { method: 'POST' })).status).toBe(201);
    } finally {
      await restarted.close();
    }
  });

  it.each([
    ['ANGELIA_ADMIN_TOKEN', 'another-admin-token-0123'],
    ['ANGELIA_MASTER_KEY', Buffer.alloc(32, 7).toString('base64')],
  ])('lets in no longer once %s has changed, and neither does a link', async (name, value) => {
    const browser = await signedInBrowser(ingress);
    const code = await newCode(ingress);
    const changed = await start(database.url, { [name]: value });
    try {
      expect((await browser.call(changed, '/v1/sessions')).body.code).toBe('signed_out');
      expect((await new Browser().signIn(changed, { code })).body.code).toBe('unauthorized');
    } finally {
      await changed.close();
    }
  });

  it('is of no use without the CSRF token for anything but reading', async () => {
    const browser = await signedInBrowser(ingress);
    const id = await newSession();
    const cancel = (headers: Record<string, string>) =>
      browser.call(ingress, `/v1/sessions/${id}/cancel`, { method: 'POST', headers });
    const strange = await signedInBrowser(ingress);
    for (const token of ['', 'x', `${browser.csrfToken}x`, String(strange.csrfToken)]) {
      const answer = await cancel({ 'x-angelia-csrf': token });
      expect([answer.status, answer.body.code]).toEqual([403, 'csrf']);
    }
    const out = await browser.call(ingress, '/console/session', {
      method: 'DELETE',
      headers: { 'x-angelia-csrf': '' },
    });
    expect([out.status, out.body.code]).toEqual([403, 'csrf']);
    expect((await browser.call(ingress, '/v1/sessions', { headers: { 'x-angelia-csrf': '' } })).status).toBe(
      200,
    );
    expect((await cancel({})).status).toBe(202);
    // Invariant every-act-has-an-actor.
    const events = (await ingress.log.streams.read(id)).map(({ type, meta }) => [type, meta.actor]);
    expect(events.filter(([, actor]) => actor === 'console').length).toBeGreaterThan(0);
  });

  it.each([
    [{ 'sec-fetch-site': 'cross-site' }],
    // Another port of this host is the same site, so the browser sends the cookie along.
    [{ 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:3000' }],
    [{ origin: 'https://evil.example' }],
    [{ origin: 'null' }],
  ])('lets in no page of another origin: %j', async (headers) => {
    const browser = await signedInBrowser(ingress);
    for (const [path, method] of [
      ['/v1/sessions', 'GET'],
      ['/v1/console/links', 'POST'],
      ['/console/session', 'GET'],
      ['/console/session', 'DELETE'],
    ] as const) {
      const answer = await browser.call(ingress, path, { method, headers });
      expect([path, answer.status, answer.body.code]).toEqual([path, 403, 'cross_site']);
    }
    const signIn = await new Browser().signIn(ingress, undefined, headers);
    expect([signIn.status, signIn.body.code]).toEqual([403, 'cross_site']);
  });

  it.each([
    [{ 'sec-fetch-site': 'same-origin', origin: 'https://console.behind-a-proxy.example' }],
    [{ 'sec-fetch-site': 'none' }],
    [{ origin: PUBLIC_URL }],
    [{ host: 'angelia.local:8644', origin: 'https://angelia.local:8644' }],
    [{ 'x-forwarded-host': 'angelia.local', origin: 'https://angelia.local' }],
  ])('lets in our own page: %j', async (headers) => {
    const browser = new Browser();
    expect((await browser.signIn(ingress, undefined, headers)).status).toBe(200);
    expect((await browser.call(ingress, '/v1/console/links', { method: 'POST', headers })).status).toBe(201);
  });

  it('is not set for a page that came by plain http from another machine: the browser would drop it', async () => {
    const headers = { host: '192.0.2.1:8644', origin: 'http://192.0.2.1:8644' };
    const answer = await new Browser().signIn(ingress, undefined, headers);
    expect([answer.status, answer.body.code]).toEqual([403, 'needs_https']);
    expect(answer.body.error).toContain('https');
  });
});

describe('signing out', () => {
  it('ends the session at once here, within seconds on other replicas, and its streams with it', async () => {
    const browser = await signedInBrowser(ingress);
    const bystander = await signedInBrowser(ingress);
    const id = await newSession();
    const open = async (at: TestIngress, path: string, { cookie }: Browser) => {
      const source = await openEvents(at, path, { authorization: '', cookie: cookie ?? '' });
      expect(source.status).toBe(200);
      sources.push(source);
      return source;
    };
    const streams = await Promise.all([
      open(ingress, '/v1/events', browser),
      open(other, '/v1/events', browser),
      open(other, `/v1/sessions/${id}/stream`, browser),
    ]);
    const stays = await open(other, '/v1/events', bystander);
    const held = { cookie: browser.cookie ?? '' };
    const signedOut = await browser.call(ingress, '/console/session', { method: 'DELETE' });
    expect(signedOut.status).toBe(204);
    expect(String(signedOut.headers['set-cookie'])).toMatch(/^angelia_session=; .*Max-Age=0/);

    const thief = new Browser();
    thief.cookie = held.cookie;
    const refused = await thief.call(ingress, '/v1/sessions');
    expect([refused.status, refused.body.code]).toEqual([401, 'signed_out']);
    await eventually(() => streams.every((stream) => stream.ended()));
    await eventually(async () => (await thief.call(other, '/v1/sessions')).status === 401);
    // An EventSource connects again, and stays away after this answer.
    const again = await openEvents(other, '/v1/events', { authorization: '', ...held });
    expect(again.status).toBe(401);
    again.hangUp();
    expect(stays.ended()).toBe(false);
    expect((await bystander.call(other, '/v1/sessions')).status).toBe(200);
  });

  it('happens by itself when the time is up', async () => {
    const browser = await signedInBrowser(other);
    const stream = await openEvents(other, '/v1/events', { authorization: '', cookie: browser.cookie ?? '' });
    sources.push(stream);
    expect(stream.status).toBe(200);
    await database.query('UPDATE angelia.console_sessions SET expires_at = now() WHERE digest = $1', [
      digestOf(secretOf(browser)),
    ]);
    await eventually(() => stream.ended());
    expect((await browser.call(other, '/console/session')).status).toBe(401);
  });
});

describe('a stranger (invariant strangers-cost-little)', () => {
  it('with invented cookies and codes causes no query: they are refused also while Postgres is away', async () => {
    const browser = await signedInBrowser(ingress);
    const code = await newCode(ingress);
    const invented = new Browser();
    invented.cookie = `angelia_session=${'x'.repeat(43)}.${'y'.repeat(43)}`;
    await wire.cut();
    try {
      expect((await invented.call(ingress, '/v1/sessions')).status).toBe(401);
      expect((await new Browser().signIn(ingress, { code: 'x.y' })).status).toBe(401);
      // What is ours needs the database.
      expect((await new Browser().signIn(ingress, { code })).status).toBe(503);
      await eventually(async () => (await browser.call(ingress, '/console/session')).status === 503);
    } finally {
      await wire.restore();
    }
    await eventually(async () => (await browser.call(ingress, '/console/session')).status === 200);
  });

  it('with a cookie that is over causes one query, and one that is open a query in two seconds', async () => {
    const replica = await start(database.url);
    try {
      const browser = await signedInBrowser(ingress);
      const { consoleAccess } = replica.log;
      const find = consoleAccess.find.bind(consoleAccess);
      const asked: string[] = [];
      consoleAccess.find = (digest) => {
        asked.push(digest);
        return find(digest);
      };
      const startedAt = performance.now();
      for (let n = 0; n < 50; n += 1) await browser.call(replica, '/v1/processes');
      expect(asked.length).toBeLessThanOrEqual(1 + (performance.now() - startedAt) / 2_000);
      await replica.log.consoleAccess.revoke(digestOf(secretOf(browser)));
      await eventually(async () => (await browser.call(replica, '/v1/processes')).status === 401);
      asked.length = 0;
      for (let n = 0; n < 50; n += 1) expect((await browser.call(replica, '/v1/processes')).status).toBe(401);
      expect(asked).toEqual([]);
    } finally {
      await replica.close();
    }
  });

  it.each(['code', 'token', 'cookie'])('who guesses a %s is slowed down, alone', async (what) => {
    const before = signIns();
    const from = {
      'x-forwarded-for': { code: '192.0.2.1', token: '192.0.2.2', cookie: '192.0.2.3' }[what] ?? '',
    };
    const guess = async (n: number) => {
      const browser = new Browser();
      if (what === 'cookie') browser.cookie = `angelia_session=guess-number-${n}.x`;
      return what === 'cookie'
        ? browser.call(ingress, '/v1/sessions', { headers: from })
        : browser.signIn(
            ingress,
            what === 'code' ? { code: `guess-number-${n}` } : { token: `guess-number-${n}` },
            from,
          );
    };
    const answers = await Promise.all(Array.from({ length: 60 }, (_, n) => guess(n)));
    const slowed = answers.filter(({ status }) => status === 429);
    expect(slowed.length).toBeGreaterThan(0);
    expect(slowed[0]?.headers['retry-after']).toBe('1');
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(60 - slowed.length);
    if (what !== 'cookie') {
      const counted = signIns();
      const more = (outcome: string) => (counted[outcome] ?? 0) - (before[outcome] ?? 0);
      expect([more('wrong'), more('slowed_down')]).toEqual([60 - slowed.length, slowed.length]);
    }
    expect((await new Browser().signIn(ingress, undefined, { 'x-forwarded-for': '192.0.2.9' })).status).toBe(
      200,
    );
  });

  it('sends no more than a small JSON body to sign in', async () => {
    const post = (headers: Record<string, string>, body: string | string[]) =>
      rawRequest({ url: `${ingress.baseUrl}/console/session`, headers, body });
    const json = { 'content-type': 'application/json' };
    const right = JSON.stringify({ token: ADMIN_TOKEN });
    expect((await post(json, right.padEnd(5_000))).status).toBe(413);
    expect((await post(json, [right.slice(0, 5), right.slice(5)])).status).toBe(413);
    // What a form of a foreign page can send.
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      expect((await post({ 'content-type': type }, right)).status).toBe(415);
    }
    for (const body of [
      '{}',
      '[]',
      '{"code":"a","token":"b"}',
      '{"token":""}',
      `{"token":"${'x'.repeat(1_001)}"}`,
    ]) {
      expect([body.slice(0, 30), (await post(json, body)).status]).toEqual([body.slice(0, 30), 400]);
    }
    expect((await post(json, right)).status).toBe(200);
  });
});

it('neither the log nor the database holds a secret of the console', async () => {
  const code = await newCode(ingress);
  const browser = new Browser();
  await browser.signIn(ingress, { code });
  await browser.call(ingress, '/v1/console/links', { method: 'POST', headers: { 'x-angelia-csrf': '' } });
  const secrets = [code, secretOf(browser), String(browser.csrfToken)].flatMap((secret) => [
    secret,
    secret.slice(0, 20),
  ]);
  const rows = await database.query(
    'SELECT to_jsonb(s)::text AS row FROM angelia.console_sessions s UNION ALL SELECT to_jsonb(l)::text FROM angelia.console_links l',
  );
  const kept = JSON.stringify(rows);
  expect(kept).toContain(digestOf(code));
  for (const secret of secrets) {
    expect(kept).not.toContain(secret);
    expect(ingress.logged()).not.toContain(secret);
  }
});
