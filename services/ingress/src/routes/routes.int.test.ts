import { randomBytes } from 'node:crypto';
import { NatsServer } from '@angelia/bus/testing';
import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { eventually, signatureHeaders } from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ADMIN_TOKEN, startIngress, type TestIngress } from '../testing/ingress.ts';
import { type SeverableProxy, severable } from '../testing/severable-proxy.ts';

const FILE_SECRET = 'secret-of-the-file-routes';
const MASTER_KEY = randomBytes(32).toString('base64');

const config = {
  secret: FILE_SECRET,
  models: { demo: { provider: 'builtin', model: 'echo' } },
  agents: {
    default: { model: 'demo' },
    handy: { model: 'demo', toolsets: ['clarify', 'terminal'] },
  },
  api_routes: { allowed_toolsets: ['clarify'] },
  routes: {
    filed: {
      prompt: 'from the file',
      deliver: 'http',
      deliver_extra: { url: 'http://a.test' },
    },
    // The loader would refuse it. It is here to check that it is not shown.
    lax: {
      prompt: 'from the file',
      deliver: 'http',
      deliver_extra: { url: 'http://a.test', headers: { authorization: 'Bearer of-the-file' } },
    },
  },
};

let database: TestDatabase;
let wire: SeverableProxy;
const running: TestIngress[] = [];
let here: TestIngress;
let there: TestIngress;

beforeAll(async () => {
  database = await createTestDatabase();
  wire = await severable(database.url);
  here = await start({ databaseUrl: wire.url });
  there = await start();
});

afterEach(() => wire.restore());

afterAll(async () => {
  await Promise.all(running.map((ingress) => ingress.close()));
  await wire?.cut();
  await database?.drop();
});

async function start(
  more: {
    databaseUrl?: string;
    masterKey?: string | null;
    host?: string;
    config?: object;
    natsUrl?: string;
  } = {},
): Promise<TestIngress> {
  const masterKey = more.masterKey === undefined ? MASTER_KEY : more.masterKey;
  const ingress = await startIngress({
    databaseUrl: more.databaseUrl ?? database.url,
    config: { ...config, ...more.config },
    ...(more.natsUrl === undefined ? {} : { natsUrl: more.natsUrl }),
    env: {
      ...(masterKey === null ? {} : { ANGELIA_MASTER_KEY: masterKey }),
      ...(more.host === undefined ? {} : { ANGELIA_HOST: more.host }),
    },
  });
  running.push(ingress);
  return ingress;
}

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly headers: Headers;
}

async function call(
  ingress: TestIngress,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(new URL(path, ingress.baseUrl), {
    method,
    headers: {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
  };
}

const put = (ingress: TestIngress, name: string, body: unknown, headers: Record<string, string> = {}) =>
  call(ingress, 'PUT', `/v1/routes/${name}`, body, headers);

/** A route with a generated secret. */
async function made(ingress: TestIngress, name: string, definition: object = {}): Promise<string> {
  const answer = await put(ingress, name, definition);
  expect([answer.status, answer.body.error]).toEqual([201, undefined]);
  return answer.body.secret as string;
}

async function post(ingress: TestIngress, route: string, secret: string, body: object = { text: 'x' }) {
  const text = JSON.stringify(body);
  const response = await fetch(`${ingress.baseUrl}/webhooks/${route}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...signatureHeaders({ secret, deliveryId: randomBytes(8).toString('hex') }, text),
    },
    body: text,
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  };
}

async function routeEvents(name: string) {
  return database.query<{ type: string; version: number; data: Record<string, unknown> }>(
    'SELECT type, version, data FROM angelia.events WHERE stream_id = $1 ORDER BY version',
    [`route-${name}`],
  );
}

/** By the poll alone, because there is no NATS here. */
async function soon<T>(what: () => Promise<T>, is: (value: T) => boolean): Promise<void> {
  await eventually(async () => is(await what()));
}

describe('a route made by API', () => {
  it('takes webhooks at once here, and soon on another replica without a bus', async () => {
    const secret = await made(here, 'fresh', { prompt: 'Say {text}' });
    expect((await post(here, 'fresh', secret)).status).toBe(202);
    await soon(
      () => post(there, 'fresh', secret),
      ({ status }) => status === 202,
    );
    expect((await post(there, 'fresh', 'another-secret')).status).toBe(401);
    expect((await post(there, 'fresh', FILE_SECRET)).status).toBe(401);
  });

  it('is known on another replica through a ping over NATS long before the poll', async () => {
    const nats = await NatsServer.prepare();
    await nats.start();
    try {
      const [a, b] = await Promise.all([start({ natsUrl: nats.url }), start({ natsUrl: nats.url })]);
      let n = 0;
      const msUntilKnown = async () => {
        const name = `pinged-${n++}`;
        const secret = await made(a, name);
        const since = performance.now();
        await eventually(async () => (await post(b, name, secret)).status === 202, { everyMs: 5 });
        return performance.now() - since;
      };
      // With the poll alone each but the first takes about 900 ms, because a poll also found its predecessor. With the
      // ping one is quicker sooner or later, however busy the machine is.
      await msUntilKnown();
      await eventually(async () => (await msUntilKnown()) < 200);
      await Promise.all([a.close(), b.close()]);
      running.splice(running.indexOf(a), 1);
      running.splice(running.indexOf(b), 1);
    } finally {
      await nats.dispose();
    }
  });

  it('shows its secret once and keeps it sealed: neither the log, nor a list, nor a log line contains it', async () => {
    const secret = await made(here, 'sealed');
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const shown = await call(here, 'GET', '/v1/routes/sealed');
    const listed = await call(here, 'GET', '/v1/routes');
    const again = await put(here, 'sealed', { prompt: 'other' });
    expect(again.status).toBe(200);
    const rows = await database.query(
      "SELECT data::text, meta::text FROM angelia.events WHERE stream_id LIKE 'route%'",
    );
    for (const text of [shown.body, listed.body, again.body, rows, here.logged()].map((part) =>
      JSON.stringify(part),
    )) {
      expect(text).not.toContain(secret.slice(6, 40));
    }
    expect((await post(here, 'sealed', secret)).status).toBe(202);
    const [first] = await routeEvents('sealed');
    expect(first?.data.secret).toEqual({
      algorithm: 'aes-256-gcm',
      key: expect.stringMatching(/^[0-9a-f]{16}$/),
      nonce: expect.any(String),
      ciphertext: expect.any(String),
    });
  });

  it('is shown with its defaults and its revision, without secrets, beside the routes of the file', async () => {
    await put(here, 'shown', {
      prompt: 'p',
      secret: ['one-secret', 'two-secret'],
      deliver: 'http',
      deliver_extra: { url: 'https://x.test', headers: { 'x-tenant': 'acme' } },
    });
    const { status, body, headers } = await call(there, 'GET', '/v1/routes/shown');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      name: 'shown',
      path: '/webhooks/shown',
      source: 'api',
      status: 'active',
      problem: null,
      authenticated: true,
      revision: 1,
      updated_at: expect.stringMatching(/Z$/),
      definition: {
        prompt: 'p',
        agent: 'default',
        interim: 'message',
        deliver_extra: { url: 'https://x.test', headers: { 'x-tenant': 'acme' } },
      },
    });
    expect(headers.get('etag')).toBe('"1"');
    expect(JSON.stringify(body)).not.toMatch(/one-secret|two-secret/);
    const file = await call(there, 'GET', '/v1/routes/filed');
    expect(file.body).toMatchObject({
      source: 'config',
      revision: null,
      status: 'active',
      definition: { prompt: 'from the file' },
    });
    const lax = await call(there, 'GET', '/v1/routes/lax');
    expect(JSON.stringify([file.body, lax.body])).not.toMatch(/of-the-file"|secret-of/);
    const names: string[] = [];
    let cursor = '';
    do {
      const page = await call(there, 'GET', `/v1/routes?limit=1${cursor}`);
      names.push(...(page.body.items as { name: string }[]).map((item) => item.name));
      cursor = page.body.next_cursor === null ? '' : `&cursor=${page.body.next_cursor}`;
    } while (cursor !== '');
    expect(names).toEqual([...names].sort());
    expect(names).toEqual(expect.arrayContaining(['filed', 'shown']));
    expect((await call(there, 'GET', '/v1/routes/nothing')).status).toBe(404);
  });

  it('cannot carry a credential into the events of its sessions', async () => {
    const { status, body } = await put(here, 'leaky', {
      prompt: 'p',
      deliver: 'http',
      deliver_extra: { url: 'https://x.test', headers: { Authorization: 'Bearer t0ken-of-mine' } },
    });
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain('targets.http.headers');
    expect(JSON.stringify(body)).not.toContain('t0ken');
  });

  it('survives a restart', async () => {
    const secret = await made(here, 'lasting', { prompt: 'still' });
    const restarted = await start();
    const statuses: number[] = [];
    await eventually(async () => {
      statuses.push((await post(restarted, 'lasting', secret)).status);
      return statuses.at(-1) === 202;
    });
    // A start does not wait for ever for the first read of the routes. A 404 would be wrong for a route that exists.
    expect(statuses.filter((status) => status !== 202 && status !== 503)).toEqual([]);
  });

  it('changes and disappears on another replica within a second, and may come back', async () => {
    const secret = await made(here, 'moving', { events: ['push'] });
    await soon(
      () => post(there, 'moving', secret),
      ({ body }) => body.status === 'accepted',
    );
    await put(here, 'moving', { events: ['other'] });
    await soon(
      () => post(there, 'moving', secret),
      ({ body }) => body.status === 'ignored',
    );
    await put(there, 'moving', { enabled: false });
    await soon(
      () => post(here, 'moving', secret),
      ({ status }) => status === 403,
    );
    expect((await call(here, 'DELETE', '/v1/routes/moving')).status).toBe(204);
    expect((await post(here, 'moving', secret)).status).toBe(404);
    await soon(
      () => post(there, 'moving', secret),
      ({ status }) => status === 404,
    );
    expect((await call(here, 'DELETE', '/v1/routes/moving')).status).toBe(404);
    const another = await made(there, 'moving');
    expect(another).not.toBe(secret);
    expect((await post(there, 'moving', secret)).status).toBe(401);
    expect((await post(there, 'moving', another)).status).toBe(202);
    expect((await routeEvents('moving')).map(({ type }) => type)).toEqual([
      'route.defined',
      'route.defined',
      'route.defined',
      'route.deleted',
      'route.defined',
    ]);
  });

  it('has secrets that rotate and a rate limit, like a route of the file', async () => {
    await put(here, 'like-file', { secret: ['old-secret', 'new-secret'], rate_limit: 2 });
    expect((await post(here, 'like-file', 'old-secret')).status).toBe(202);
    expect((await post(here, 'like-file', 'new-secret')).status).toBe(202);
    const limited = await post(here, 'like-file', 'new-secret');
    expect([limited.status, Number(limited.headers.get('retry-after'))]).toEqual([429, expect.any(Number)]);
  });

  it('is not a session: the lists of sessions do not show its stream', async () => {
    await made(here, 'no-session');
    const { body } = await call(here, 'GET', '/v1/sessions');
    expect(JSON.stringify(body)).not.toContain('route-no-session');
  });
});

describe('PUT', () => {
  it('of the same definition changes nothing, with and without the secret', async () => {
    const body = { prompt: 'same', secret: 'given-secret' };
    expect((await put(here, 'same', body)).status).toBe(201);
    for (const again of [body, { prompt: 'same' }, { secret: ['given-secret'], prompt: 'same' }]) {
      const answer = await put(there, 'same', again);
      expect([answer.status, answer.body.revision, answer.body.secret]).toEqual([200, 1, undefined]);
    }
    expect(await routeEvents('same')).toHaveLength(1);
    expect((await put(here, 'same', { prompt: 'same', secret: 'changed-secret' })).body.revision).toBe(2);
    expect((await post(here, 'same', 'given-secret')).status).toBe(401);
    expect((await post(here, 'same', 'changed-secret')).status).toBe(202);
  });

  it('from two replicas at once has one order, and both answer with what they did', async () => {
    await made(here, 'race');
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => put(n % 2 === 0 ? here : there, 'race', { prompt: `p${n}` })),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const events = await routeEvents('race');
    expect(events.map(({ version }) => version)).toEqual(Array.from({ length: 21 }, (_, n) => n + 1));
    const last = (events.at(-1)?.data.definition as { prompt: string } | undefined)?.prompt;
    for (const ingress of [here, there]) {
      expect((await call(ingress, 'GET', '/v1/routes/race')).body).toMatchObject({
        revision: 21,
        definition: { prompt: last },
      });
    }
  });

  it('with If-Match changes only the revision that was seen, and with If-None-Match only creates', async () => {
    await made(here, 'matched');
    const stale = { 'if-match': '"1"' };
    expect((await put(there, 'matched', { prompt: 'b' }, stale)).status).toBe(200);
    const lost = await put(here, 'matched', { prompt: 'c' }, stale);
    expect([lost.status, lost.body.error]).toEqual([412, expect.stringContaining('revision 2')]);
    expect((await call(here, 'DELETE', '/v1/routes/matched', undefined, stale)).status).toBe(412);
    expect((await put(here, 'matched', {}, { 'if-none-match': '*' })).status).toBe(412);
    expect((await put(here, 'unmatched', {}, stale)).status).toBe(412);
    expect((await put(here, 'matched', {}, { 'if-match': 'W/"2"' })).status).toBe(400);
    expect((await put(here, 'unmatched', {}, { 'if-none-match': '*' })).status).toBe(201);
  });

  it.each([
    ['an unknown key', { promt: 'x' }, '`promt`'],
    ['a key of Hermes that is not there', { cron_job: 'x' }, 'scheduler'],
    ['a wrong type', { events: 'push' }, '`events`'],
    ['a broken filter', { filters: [{ field: 'a', regex: '(' }] }, 'filters'],
    ['an unknown agent', { agent: 'nobody' }, '`agent`'],
    [
      'an agent by the name of what every object has',
      { agent: 'constructor', toolsets: ['clarify'] },
      '`agent`',
    ],
    ['an unknown target', { deliver: 'pigeon' }, '`deliver`'],
    ['an unknown scheme', { auth: 'telepathy' }, '`auth`'],
    ['a target without its address', { deliver: 'http' }, '`deliver_extra.url`'],
    [
      'a target without its credential',
      { deliver: 'telegram', deliver_extra: { chat_id: '1' } },
      'targets.telegram.bot_token',
    ],
    [
      'editing where that cannot be done',
      { deliver: 'http', deliver_extra: { url: 'https://x.test' }, interim: 'edit' },
      'cannot edit',
    ],
    ['an empty secret', { secret: '' }, '`secret`'],
    ['a toolset beyond those for API routes', { agent: 'handy', toolsets: ['terminal'] }, 'allowed_toolsets'],
    ['an agent with a toolset beyond those', { agent: 'handy' }, '`terminal`'],
    ['a variable as its secret', { secret: '$' + '{GITHUB_SECRET}' }, '`secret`'],
    ['a variable among its secrets', { secret: ['a', '$' + '{B}'] }, '`secret.1`'],
    ['a variable', { deliver_extra: { url: 'https://$' + '{HOST}' } }, 'for the config file'],
    ['a default of a variable', { prompt: '$' + '{A:-b}' }, '`prompt`'],
    ['an address that is none', { deliver: 'http', deliver_extra: { url: 'x' } }, '`deliver_extra.url`'],
    [
      'a password in its address',
      { deliver: 'http', deliver_extra: { url: 'https://a:b@example.com' } },
      'targets.http.headers',
    ],
    [
      'a private address',
      { deliver: 'http', deliver_extra: { url: 'http://127.0.0.1:1/' } },
      'allow_private_networks',
    ],
    [
      'more patterns than can be searched in time',
      { filters: [{ any: Array.from({ length: 1_661 }, () => ({ field: 'a', regex: 'a+$' })) }] },
      '`filters.0.any.50.regex`',
    ],
    ['a script', { script: 'x.sh' }, '`script`'],
    ['a filter over a file', { filters: [{ any: [{ field: 'a', in_file: '/etc/passwd' }] }] }, 'in_file'],
    ['a depth for the stack', `{"deliver_extra":${'['.repeat(5000)}${']'.repeat(5000)}}`, 'nested'],
    ['an unstorable text', { prompt: 'a\u0000b' }, 'U+0000'],
    ['a list', [], 'object'],
  ])('with %s is refused with 400, the place and the reason', async (_what, body, says) => {
    const answer = await put(here, 'refused', body);
    expect([answer.status, answer.body.error]).toEqual([400, expect.stringContaining(says)]);
    expect(await routeEvents('refused')).toEqual([]);
  });

  it.each(['Upper', 'a b', '-a', 'a%2Fb', `${'x'.repeat(64)}`, 'a.b', '%F0%9F%92%A9'])(
    'to the name %s is refused with 400',
    async (name) => {
      expect((await put(here, name, {})).status).toBe(400);
    },
  );

  it('refuses a body that is not JSON or too large, and a call without the admin token', async () => {
    expect((await put(here, 'refused', '{')).status).toBe(400);
    expect((await put(here, 'refused', { prompt: 'x'.repeat(70_000) })).status).toBe(413);
    for (const [method, path] of [
      ['GET', '/v1/routes'],
      ['GET', '/v1/routes/filed'],
      ['PUT', '/v1/routes/x'],
      ['DELETE', '/v1/routes/x'],
    ] as const) {
      const answer = await call(here, method, path, method === 'PUT' ? {} : undefined, {
        authorization: 'Bearer wrong',
      });
      expect([path, answer.status]).toEqual([path, 401]);
    }
  });

  it('keeps the allowed part of its agent’s toolsets, and does not read the environment', async () => {
    const secret = await made(here, 'modest', {
      agent: 'handy',
      toolsets: ['clarify'],
      prompt: '$$' + '{ANGELIA_MASTER_KEY}',
    });
    const { session_id } = (await post(here, 'modest', secret)).body;
    const [created, turn] = await database.query<{ data: Record<string, unknown> }>(
      'SELECT data FROM angelia.events WHERE stream_id = $1 ORDER BY version',
      [session_id],
    );
    expect(created?.data.toolsets).toEqual(['clarify']);
    expect(turn?.data.input).toBe('$' + '{ANGELIA_MASTER_KEY}');
  });

  it('may be deliver_only, and then its agent’s toolsets do not matter', async () => {
    for (const agent of ['default', 'handy']) {
      const secret = await made(here, `only-${agent}`, {
        agent,
        prompt: 'say {text}',
        deliver_only: true,
        deliver: 'http',
        deliver_extra: { url: 'https://example.com/in' },
      });
      const answer = await post(here, `only-${agent}`, secret);
      expect(answer.status).toBe(202);
      const [created] = await database.query<{ type: string; data: object }>(
        'SELECT type, data FROM angelia.events WHERE stream_id = $1 ORDER BY version',
        [answer.body.session_id],
      );
      expect(created?.data).toMatchObject({ deliver_only: true, deliver: { target: 'http' } });
    }
  });

  it('stores an escaped variable as the literal, also in its secret, and does not change when PUT again', async () => {
    const definition = { prompt: 'pay $$' + '{amount}', secret: '$$' + '{NAME}' };
    expect((await put(here, 'literal', definition)).status).toBe(201);
    expect((await put(here, 'literal', definition)).body).toMatchObject({ revision: 1 });
    expect((await post(here, 'literal', '$' + '{NAME}')).status).toBe(202);
    expect((await call(here, 'GET', '/v1/routes/literal')).body).toMatchObject({
      definition: { prompt: 'pay $' + '{amount}' },
    });
  });

  it('takes INSECURE_NO_AUTH only on loopback', async () => {
    expect((await put(here, 'open', { secret: 'INSECURE_NO_AUTH' })).status).toBe(201);
    expect((await post(here, 'open', 'whatever')).status).toBe(202);
    const exposed = await start({ host: '0.0.0.0' });
    const refused = await put(exposed, 'open-too', { secret: 'INSECURE_NO_AUTH' });
    expect([refused.status, refused.body.error]).toEqual([400, expect.stringContaining('loopback')]);
    // One that was created while ingress listened on loopback is not open to the world either.
    expect((await post(exposed, 'open', 'whatever')).status).toBe(503);
    // Closing it again: a PUT without a secret generates one.
    const closed = await put(here, 'open', {});
    expect(closed.body.secret).toMatch(/^whsec_/);
    expect((await post(here, 'open', 'whatever')).status).toBe(401);
  });
});

describe('a route of the config file', () => {
  it('cannot be changed or deleted, and hides a route of the same name made by API', async () => {
    for (const answer of [await put(here, 'filed', {}), await call(here, 'DELETE', '/v1/routes/filed')]) {
      expect([answer.status, answer.body.error]).toEqual([409, expect.stringContaining('config file')]);
    }
    const secret = await made(here, 'both', { prompt: 'by API' });
    const later = await start({ config: { routes: { both: { prompt: 'by file' } } } });
    expect((await post(later, 'both', secret)).status).toBe(401);
    expect((await post(later, 'both', FILE_SECRET)).status).toBe(202);
    expect((await call(later, 'GET', '/v1/routes/both')).body).toMatchObject({ source: 'config' });
    await eventually(() => later.logged().includes('hides'));
  });
});

describe('a session of a route made by API', () => {
  it('keeps where and how to deliver when the route is edited and then deleted (config-is-a-fact)', async () => {
    const secret = await made(here, 'captured', {
      title: 'About {text}',
      deliver: 'http',
      deliver_extra: { url: 'https://first.test/in' },
      fallback_target: { deliver: 'http', deliver_extra: { url: 'https://second.test' } },
    });
    const { session_id } = (await post(here, 'captured', secret)).body;
    const events = () =>
      database.query(
        'SELECT version, type, data, meta FROM angelia.events WHERE stream_id = $1 ORDER BY version',
        [session_id],
      );
    const before = await events();
    expect(before[0]?.data).toMatchObject({
      title: 'About x',
      // Fixed addresses too, because nobody who wrote the config approved them.
      deliver: {
        target: 'http',
        to: { url: 'https://first.test/in' },
        untrusted_address: true,
        untrusted_host: true,
      },
      fallback_target: { to: { url: 'https://second.test' }, untrusted_address: true, untrusted_host: true },
      // The services check what such routes may do.
      api_route: true,
    });
    await put(here, 'captured', { deliver: 'log', enabled: false });
    await call(here, 'DELETE', '/v1/routes/captured');
    expect(await events()).toEqual(before);
    expect((await call(here, 'GET', `/v1/sessions/${session_id}`)).body).toMatchObject({
      route: 'captured',
      status: 'queued',
      deliver: { target: 'http', to: { url: 'https://first.test/in' } },
    });
  });

  it('with a fixed address in the config file stays trusted', async () => {
    const { session_id } = (await post(here, 'filed', FILE_SECRET)).body;
    const [created] = await database.query<{ data: { deliver: object } }>(
      'SELECT data FROM angelia.events WHERE stream_id = $1 AND version = 1',
      [session_id],
    );
    expect(created?.data.deliver).toMatchObject({ untrusted_address: false });
    expect(created?.data).not.toHaveProperty('api_route');
  });
});

describe('the master key', () => {
  it('if missing, makes PUT answer with what to do, and affects nothing else', async () => {
    // An agent that asks questions needs it for their links; without it ingress would not start.
    await expect(start({ masterKey: null })).rejects.toThrow('agent `handy` has the toolset `clarify`');
    const agents = { ...config.agents, handy: { model: 'demo' } };
    const keyless = await start({ masterKey: null, config: { agents } });
    const refused = await put(keyless, 'keyless', {});
    expect([refused.status, refused.body.error]).toEqual([
      503,
      expect.stringContaining('openssl rand -base64 32'),
    ]);
    expect((await post(keyless, 'filed', FILE_SECRET)).status).toBe(202);
    expect((await put(keyless, 'keyless-open', { secret: 'INSECURE_NO_AUTH' })).status).toBe(201);
  });

  it('if changed, is reported per route at the start: those routes answer 503, others work, and a new secret repairs it', async () => {
    const secret = await made(here, 'locked', { prompt: 'locked' });
    const other = await start({ masterKey: randomBytes(32).toString('base64') });
    // A start does not wait for ever for the first read of the routes.
    await eventually(() => /"route":"locked"[^\n]*another master key/.test(other.logged()));
    const answer = await post(other, 'locked', secret);
    expect([answer.status, Number(answer.headers.get('retry-after'))]).toEqual([503, 60]);
    expect((await post(other, 'filed', FILE_SECRET)).status).toBe(202);
    const shown = (await call(other, 'GET', '/v1/routes/locked')).body;
    expect(shown).toMatchObject({
      status: 'unusable',
      problem: expect.stringContaining('ANGELIA_MASTER_KEY'),
      definition: { prompt: 'locked' },
    });
    expect((await put(other, 'locked', { prompt: 'locked' })).status).toBe(409);
    expect((await put(other, 'locked', { prompt: 'locked', secret: 'a-new-secret' })).status).toBe(200);
    expect((await post(other, 'locked', 'a-new-secret')).status).toBe(202);
    await call(other, 'DELETE', '/v1/routes/locked');
  });
});

describe('while Postgres is away', () => {
  it('changes are answered 503, known routes work, and an unknown name is soon answered 503 instead of 404', async () => {
    const secret = await made(here, 'waiting');
    await wire.cut();
    for (const answer of [
      await put(here, 'waiting', { prompt: 'new' }),
      await call(here, 'DELETE', '/v1/routes/waiting'),
      await call(here, 'GET', '/v1/routes'),
    ]) {
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
    }
    expect((await post(here, 'waiting', secret)).status).toBe(503);
    await eventually(async () => (await post(here, 'not-there', secret)).status === 503);
    await wire.restore();
    await eventually(async () => (await post(here, 'waiting', secret)).status === 202);
    await eventually(async () => (await post(here, 'not-there', secret)).status === 404);
  });

  it('ingress still starts, does not answer 404 for names that it cannot know, and reads its routes later', async () => {
    const secret = await made(there, 'later');
    await wire.cut();
    const early = await start({ databaseUrl: wire.url });
    expect((await post(early, 'later', secret)).status).toBe(503);
    await wire.restore();
    await eventually(async () => (await post(early, 'later', secret)).status === 202);
    // So that the next test finds it at work.
    await eventually(async () => (await call(here, 'GET', '/v1/routes')).status === 200);
  });
});

describe('another config', () => {
  it('is checked against the routes made by API: one that it forbids cannot be used until it is allowed again', async () => {
    const ingress = await start();
    const secret = await made(ingress, 'asks', { agent: 'handy', toolsets: ['clarify'] });
    expect((await post(ingress, 'asks', secret)).status).toBe(202);
    await ingress.take({ ...config, api_routes: { allowed_toolsets: [] } });
    expect((await post(ingress, 'asks', secret)).status).toBe(503);
    expect((await call(ingress, 'GET', '/v1/routes/asks')).body).toMatchObject({
      status: 'unusable',
      problem: expect.stringContaining('clarify'),
    });
    await ingress.take(config);
    expect((await post(ingress, 'asks', secret)).status).toBe(202);
  });

  it('adds, changes and removes routes of the file for the next webhook; a route of the file hides one made by API', async () => {
    const ingress = await start();
    const secret = await made(ingress, 'twofold');
    const other = 'another-secret-of-the-file';
    await ingress.take({ ...config, routes: { twofold: {}, filed: { secret: other } } });
    expect((await post(ingress, 'twofold', secret)).status).toBe(401);
    expect((await post(ingress, 'twofold', FILE_SECRET)).status).toBe(202);
    expect((await post(ingress, 'filed', FILE_SECRET)).status).toBe(401);
    expect((await post(ingress, 'filed', other)).status).toBe(202);
    expect((await post(ingress, 'lax', FILE_SECRET)).status).toBe(404);
    const { items } = (await call(ingress, 'GET', '/v1/routes')).body as {
      items: { name: string; source: string }[];
    };
    expect(items.filter(({ source }) => source === 'config').map(({ name }) => name)).toEqual([
      'filed',
      'twofold',
    ]);
    await ingress.take({ ...config, routes: {} });
    expect((await post(ingress, 'twofold', secret)).status).toBe(202);
    expect((await post(ingress, 'filed', other)).status).toBe(404);
  });

  it('has its own limit for bodies', async () => {
    const ingress = await start();
    const body = { text: 'x'.repeat(2_000) };
    expect((await post(ingress, 'filed', FILE_SECRET, body)).status).toBe(202);
    await ingress.take({ ...config, limits: { max_body_bytes: 1_000 } });
    expect((await post(ingress, 'filed', FILE_SECRET, body)).status).toBe(413);
  });

  it('is refused if ingress cannot work with it, and changes nothing', async () => {
    const plain = { ...config, agents: { default: { model: 'demo' } } };
    const ingress = await start({ masterKey: null, config: plain });
    const asking = { default: { model: 'demo', toolsets: ['clarify'] } };
    await expect(ingress.take({ ...plain, agents: asking, routes: {} })).rejects.toThrow(
      'ANGELIA_MASTER_KEY',
    );
    const scripted = { filed: { script: 'gone.sh' } };
    await expect(ingress.take({ ...plain, routes: scripted })).rejects.toThrow('routes.filed.script');
    expect((await post(ingress, 'filed', FILE_SECRET)).status).toBe(202);
  });
});
