import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { metrics } from '@angelia/service-kit';
import { withoutFences } from '@angelia/session';
import { eventually, signatureHeaders, signedPost } from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { ADMIN_TOKEN, startIngress, type TestIngress } from '../testing/ingress.ts';
import { type RawAnswer, rawBytes, rawRequest } from '../testing/raw-request.ts';
import { type SeverableProxy, severable } from '../testing/severable-proxy.ts';

const SECRET = 'webhook-secret-kept-in-the-config';
const MAX_BODY = 20_000;

const config = {
  secret: SECRET,
  limits: { max_body_bytes: MAX_BODY },
  agents: { default: {} },
  routes: {
    hook: {
      prompt: 'Say {text}',
      title: 'About {text}',
      deliver: 'http',
      deliver_extra: { url: 'https://example.com/in' },
    },
    asked: {
      prompt: 'Say {text}',
      title: 'About {text}',
      deliver: 'http',
      deliver_extra: { url: '{reply_to}', headers: { 'x-for': '{text}' } },
      max_queue_seconds: 60,
    },
    other: { prompt: '{text}' },
    pushes: { events: ['push'] },
    closed: { enabled: false },
    open: { secret: 'INSECURE_NO_AUTH' },
    gaps: { prompt: 'Say {text}, {who.name} and {who.name}', title: '{topic}' },
    blanks: { prompt: 'Say {text}, {who.name}.', on_missing: 'empty' },
    strict: { prompt: 'Say {text}, {who.name}', title: '{topic}', on_missing: 'refuse' },
    relay: {
      prompt: 'Say {text}, {who.name}',
      deliver_only: true,
      deliver: 'http',
      deliver_extra: { url: 'https://example.com/in' },
    },
  },
};

let database: TestDatabase;
let wire: SeverableProxy;
let ingress: TestIngress;
/** Every answer of this file, to check that none contains what it must not. */

beforeAll(async () => {
  database = await createTestDatabase();
  wire = await severable(database.url);
  ingress = await startIngress({ databaseUrl: wire.url, config });
});

afterEach(async () => {
  await wire.restore();
  expectNoSecret(ingress.logged());
});

afterAll(async () => {
  await ingress?.close();
  await wire?.cut();
  await database?.drop();
});

interface Posted extends RawAnswer {
  readonly body: Record<string, unknown>;
}

async function post(
  body: unknown,
  more: {
    route?: string;
    secret?: string;
    deliveryId?: string;
    event?: string;
    headers?: Record<string, string>;
  } = {},
): Promise<Posted> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return sent({
    url: `${ingress.baseUrl}/webhooks/${more.route ?? 'hook'}`,
    headers: {
      'content-type': 'application/json',
      ...signatureHeaders({ secret: more.secret ?? SECRET, ...more }, text),
      ...more.headers,
    },
    body: text,
  });
}

async function sent(request: Parameters<typeof rawRequest>[0]): Promise<Posted> {
  const answer = await rawRequest(request);
  const shown = JSON.stringify(answer.headers) + answer.text;
  expectNoSecret(shown);
  // Nor where in the code it came from.
  expect(shown).not.toMatch(/node_modules|\.ts\b|\bat \w+ \(|"stack"|statusCode/);
  return { ...answer, body: JSON.parse(answer.text) as Record<string, unknown> };
}

/** No answer and no log line shows one. */
function expectNoSecret(text: string): void {
  expect(text).not.toContain(SECRET);
  expect(text).not.toContain('postgres://');
}

async function storedEvents(sessionId: unknown) {
  return database.query<{
    type: string;
    version: number;
    data: Record<string, unknown>;
    meta: Record<string, string>;
  }>('SELECT type, version, data, meta FROM angelia.events WHERE stream_id = $1 ORDER BY version', [
    sessionId,
  ]);
}
const inputOf = async (answer: Posted) =>
  withoutFences(String((await storedEvents(answer.body.session_id))[1]?.data.input));

async function sessionCount(): Promise<number> {
  const [row] = await database.query<{ n: string }>(
    "SELECT count(*) AS n FROM angelia.events WHERE type = 'session.created'",
  );
  return Number(row?.n);
}

describe('a signed webhook', () => {
  it('is answered 202 once its session is in the log, with everything that the session needs', async () => {
    const answer = await post(
      { text: 'hello', reply_to: 'https://example.com/in' },
      { deliveryId: 'first', event: 'issues', route: 'asked' },
    );
    expect(answer.status).toBe(202);
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    expect(answer.body).toEqual({
      status: 'accepted',
      route: 'asked',
      event: 'issues',
      delivery_id: 'first',
      session_id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
    });
    const [created, requested, ...rest] = await storedEvents(answer.body.session_id);
    expect(rest).toEqual([]);
    expect(created).toMatchObject({
      type: 'session.created',
      data: {
        route: 'asked',
        event: 'issues',
        delivery_id: 'first',
        title: 'About hello',
        agent: 'default',
        deliver: {
          target: 'http',
          to: { url: 'https://example.com/in', headers: { 'x-for': 'hello' } },
          untrusted_address: true,
        },
      },
    });
    const queuedFor = Date.parse(created?.data.queue_deadline as string) - Date.now();
    expect(queuedFor).toBeGreaterThan(50_000);
    expect(queuedFor).toBeLessThanOrEqual(60_000);
    expect(requested).toMatchObject({
      type: 'turn.requested',
      data: { turn: 1, source: 'webhook', input: 'Say hello' },
    });
  });

  it.each([
    ['lacks the address', { text: 'hello' }],
    ['has no address where it should be', { text: 'hello', reply_to: 'the door' }],
    ['has an address that the target cannot reach', { text: 'hello', reply_to: 'mailto:a@example.com' }],
    ['has a password in the address', { text: 'hello', reply_to: 'https://a:pass-in-url@example.com' }],
  ])('whose payload %s is answered 400 with the key, and starts nothing', async (_what, body) => {
    const before = await sessionCount();
    const answer = await post(body, { route: 'asked' });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toContain('deliver_extra.url of this route');
    expect(answer.text).not.toContain('pass-in-url');
    expect(await sessionCount()).toBe(before);
  });

  it('whose payload lacks a value of the prompt is accepted; an event and a counter say what it lacks', async () => {
    const missing = async (route: string) => {
      const answer = await post({ text: 'hello' }, { route });
      expect(answer.status).toBe(202);
      const events = await storedEvents(answer.body.session_id);
      return {
        types: events.map(({ type }) => type),
        input: withoutFences(String(events[1]?.data.input)),
        data: events[2]?.data,
        deliveryId: answer.body.delivery_id,
      };
    };
    const counted = (route: string) =>
      [...metrics.placeholdersMissing.series].find(({ labels }) => labels[0] === route)?.value ?? 0;
    const before = { gaps: counted('gaps'), blanks: counted('blanks') };

    const gaps = await missing('gaps');
    expect(gaps.types).toEqual(['session.created', 'turn.requested', 'webhook.placeholder-missing']);
    expect(gaps.input).toBe('Say hello, {who.name} and {who.name}');
    expect(gaps.data).toEqual({
      turn: 1,
      delivery_id: gaps.deliveryId,
      placeholders: ['{who.name}', '{topic}'],
      on_missing: 'keep',
    });
    const blanks = await missing('blanks');
    expect(blanks.input).toBe('Say hello, .');
    expect(blanks.data).toMatchObject({ placeholders: ['{who.name}'], on_missing: 'empty' });
    // Nothing but deliveries may follow the end of a session.
    expect((await missing('relay')).types).toEqual([
      'session.created',
      'turn.requested',
      'webhook.placeholder-missing',
      'session.final-response',
      'session.ended',
    ]);
    expect(counted('gaps') - before.gaps).toBe(1);
    expect(counted('blanks') - before.blanks).toBe(1);
    const whole = await post({ text: 'hello', who: { name: 'Ada' }, topic: null }, { route: 'gaps' });
    expect(await storedEvents(whole.body.session_id)).toHaveLength(2);
  });

  it('whose payload lacks a value is answered 400 with its name if the route says so, and starts nothing', async () => {
    const before = await sessionCount();
    const answer = await post({ text: 'hello' }, { route: 'strict' });
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({
      error: 'the payload has no value for {who.name}, {topic}, which this route needs: send it',
    });
    expect(await sessionCount()).toBe(before);
    const listed = await fetch(new URL('/v1/webhooks?route=strict', ingress.baseUrl), {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    expect(await listed.json()).toMatchObject({
      items: [{ outcome: 'bad_request', reason: 'missing_placeholder', status: 400 }],
    });
    const whole = await post({ text: 'hello', who: { name: 'Ada' }, topic: 'x' }, { route: 'strict' });
    expect(whole.status).toBe(202);
  });

  it('counts max_queue_seconds by the clock of the database, not of this host', async () => {
    await post({ text: 'first' });
    const now = Date.now;
    const wrong = jest.spyOn(Date, 'now').mockImplementation(() => now() - 600_000);
    try {
      const body = { text: 'late', reply_to: 'https://example.com/reply' };
      const { session_id } = (await post(body, { route: 'asked' })).body;
      const [created] = await storedEvents(session_id);
      const queuedFor = Date.parse(created?.data.queue_deadline as string) - now();
      expect(queuedFor).toBeGreaterThan(30_000);
      expect(queuedFor).toBeLessThanOrEqual(61_000);
    } finally {
      wrong.mockRestore();
    }
  });

  it('is not answered before its commit', async () => {
    const locks = (which: string) =>
      database.query(
        `SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database
         WHERE d.datname = current_database() AND l.relation = 'angelia.events'::regclass AND ${which}`,
      );
    // Until there is a row in `go`.
    await database.query('CREATE TABLE public.go (n int)');
    const held = database.query(
      `BEGIN; LOCK TABLE angelia.events IN SHARE ROW EXCLUSIVE MODE;
       DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM public.go) LOOP PERFORM pg_sleep(0.02); END LOOP; END $$;
       COMMIT`,
    );
    await eventually(async () => (await locks("l.mode = 'ShareRowExclusiveLock' AND l.granted")).length > 0);
    let answered = false;
    const posted = post({ text: 'waiting' }).finally(() => {
      answered = true;
    });
    await eventually(async () => (await locks('NOT l.granted')).length > 0);
    // Meanwhile another request goes through the whole server: an answer that did not wait would be here by then.
    expect((await post({}, { secret: 'wrong' })).status).toBe(401);
    expect(answered).toBe(false);
    await database.query('INSERT INTO public.go VALUES (1)');
    await held;
    expect((await posted).status).toBe(202);
  });

  it('is authenticated on its raw bytes, whatever JSON they are', async () => {
    const answer = await post('{ "text" :\n "gr\\u00fc\\u00dfe \\ud83d\\ude00" }');
    expect(answer.status).toBe(202);
    expect(await inputOf(answer)).toBe('Say grüße 😀');
  });

  it('is taken if its text contains what Postgres cannot store', async () => {
    const answer = await post('{"text":"a\\u0000b\\ud800c","more":"\\u0000"}');
    expect(answer.status).toBe(202);
    expect(await inputOf(answer)).toBe('Say a\ufffdb\ufffdc');
  });

  it('is taken however deep its payload is, and its prompt stays short', async () => {
    const answer = await post('['.repeat(9000) + ']'.repeat(9000), { route: 'pushes', event: 'push' });
    expect(answer.status).toBe(202);
    const input = (await storedEvents(answer.body.session_id))[1]?.data.input as string;
    expect(input.length).toBeGreaterThan(4000);
    expect(input.length).toBeLessThan(4200);
  });

  it('is taken by the generic scheme and by a bearer token', async () => {
    for (const headers of [
      signatureHeaders({ secret: SECRET, scheme: 'generic-v2' }, '{"text":"x"}'),
      { authorization: `Bearer ${SECRET}` },
    ]) {
      const answer = await sent({
        url: `${ingress.baseUrl}/webhooks/hook`,
        headers: { 'content-type': 'application/json', ...headers },
        body: '{"text":"x"}',
      });
      expect([200, 202]).toContain(answer.status);
    }
  });

  it('gets the same answer through the client of the test kit', async () => {
    const answer = await signedPost({
      baseUrl: ingress.baseUrl,
      route: 'hook',
      secret: SECRET,
      body: { text: 'x' },
    });
    expect([answer.status, answer.body.session_id]).toEqual([202, answer.sessionId]);
  });
});

describe('a repeated delivery', () => {
  it('50 times at once is one session: one 202, and 49 duplicates with the same session id', async () => {
    const before = await sessionCount();
    const all = await Promise.all(
      Array.from({ length: 50 }, () => post({ text: 'same' }, { deliveryId: 'storm' })),
    );
    expect(all.filter((answer) => answer.status === 202)).toHaveLength(1);
    const duplicates = all.filter((answer) => answer.status === 200);
    expect(duplicates).toHaveLength(49);
    const ids = new Set(all.map((answer) => answer.body.session_id));
    expect(ids.size).toBe(1);
    expect(duplicates[0]?.body).toEqual({
      status: 'duplicate',
      delivery_id: 'storm',
      session_id: [...ids][0],
    });
    expect(await sessionCount()).toBe(before + 1);
  });

  it('is a duplicate only within its route', async () => {
    const one = await post({ text: 'x' }, { deliveryId: 'shared-id' });
    const other = await post({ text: 'x' }, { deliveryId: 'shared-id', route: 'other' });
    expect([one.status, other.status]).toEqual([202, 202]);
    expect(one.body.session_id).not.toBe(other.body.session_id);
  });

  it('without any id is recognised by its body, only for the dedupe window', async () => {
    const send = () =>
      sent({
        url: `${ingress.baseUrl}/webhooks/other`,
        headers: { 'content-type': 'application/json', authorization: `Bearer ${SECRET}` },
        body: '{"text":"the same alert"}',
      });
    const first = await send();
    const again = await send();
    expect([first.status, again.status]).toEqual([202, 200]);
    expect(again.body.session_id).toBe(first.body.session_id);
    const [key] = await database.query<{ seconds: number }>(
      `SELECT date_part('epoch', expires_at - now())::int AS seconds FROM angelia.idempotency_keys WHERE stream_id = $1`,
      [first.body.session_id],
    );
    expect(key?.seconds).toBeGreaterThan(590);
    expect(key?.seconds).toBeLessThanOrEqual(600);
    await database.query(
      `UPDATE angelia.idempotency_keys SET expires_at = now() - interval '1 second' WHERE stream_id = $1`,
      [first.body.session_id],
    );
    const tomorrow = await send();
    expect(tomorrow.status).toBe(202);
    expect(tomorrow.body.session_id).not.toBe(first.body.session_id);
  });

  it('with an id is recognised for retention.delivery_ids_days', async () => {
    const { body } = await post({ text: 'x' }, { deliveryId: 'kept' });
    const [key] = await database.query<{ days: number }>(
      `SELECT date_part('epoch', expires_at - now()) / 86400 AS days FROM angelia.idempotency_keys WHERE stream_id = $1`,
      [body.session_id],
    );
    expect(key?.days).toBeCloseTo(7, 2);
  });
});

describe('a request that is not taken', () => {
  it.each([
    ['to an unknown route', 404, () => post({}, { route: 'nowhere' })],
    ['to a route named like something inherited', 404, () => post({}, { route: 'constructor' })],
    ['to a disabled route', 403, () => post({}, { route: 'closed' })],
    ['with another secret', 401, () => post({}, { secret: 'wrong' })],
    ['with a bad signature and a bad body', 401, () => post('{', { secret: 'wrong' })],
    [
      'with a bad signature and a bad type',
      401,
      () => post('{}', { secret: 'wrong', headers: { 'content-type': 'text/plain' } }),
    ],
    ['with malformed JSON', 400, () => post('{"text":')],
    ['without a body', 400, () => post('')],
    ['of another type', 415, () => post('a=b', { headers: { 'content-type': 'text/plain' } })],
  ])('%s is answered %i', async (_what, status, send) => {
    const before = await sessionCount();
    const answer = await send();
    expect(answer.status).toBe(status);
    expect(Object.keys(answer.body)).toEqual(['error']);
    expect(answer.body.error).toEqual(expect.stringMatching(/\w{3}/));
    expect(await sessionCount()).toBe(before);
  });

  it.each([
    ['no signature', {}],
    ['a header with non-ASCII bytes', { 'x-hub-signature-256': `sha256=${'\u00ff'.repeat(64)}` }],
    ['a bearer token with non-ASCII bytes', { authorization: 'Bearer gr\u00fc\u00dfe' }],
    [
      'a stale timestamp',
      signatureHeaders({ secret: SECRET, scheme: 'generic-v2', timestamp: 1_700_000_000 }, '{}'),
    ],
    ['a signature that came twice', { 'x-hub-signature-256': ['sha256=00', 'sha256=01'] }],
  ])('with %s is answered 401, always with the same text', async (_what, headers) => {
    const answer = await sent({
      url: `${ingress.baseUrl}/webhooks/hook`,
      headers: { 'content-type': 'application/json', ...(headers as Record<string, string>) },
      body: '{}',
    });
    expect(answer.status).toBe(401);
    expect(answer.body).toEqual({ error: 'the signature or token is missing or wrong for this route' });
  });

  it('because the route does not want its event is answered 200', async () => {
    const answer = await post({}, { route: 'pushes', event: 'ping' });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ status: 'ignored', reason: 'event', route: 'pushes' });
  });

  it('that is not valid UTF-8 is answered 400 with the position', async () => {
    const body = Buffer.from('{"text":"\u00ff"}', 'latin1');
    const answer = await sent({
      url: `${ingress.baseUrl}/webhooks/hook`,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${SECRET}` },
      body,
    });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toContain('offset 9');
  });

  it('is answered as JSON too if its address is unknown or it is not HTTP', async () => {
    for (const [method, path, status] of [
      ['GET', '/nothing', 404],
      ['GET', '/webhooks/hook', 405],
      ['GET', '/%', 400],
      ['POST', `/webhooks/${'x'.repeat(300)}`, 404],
    ] as const) {
      const answer = await sent({ url: ingress.baseUrl + path, method });
      expect([path, answer.status, Object.keys(answer.body)]).toEqual([path, status, ['error']]);
    }
    expect(await rawBytes(ingress.port, 'NONSENSE\r\n\r\n')).toMatch(
      /^HTTP\/1.1 400 [\s\S]*\{"error":"[^"]+"\}$/,
    );
    const huge = `GET / HTTP/1.1\r\nhost: x\r\nx-big: ${'x'.repeat(40_000)}\r\n\r\n`;
    expect(await rawBytes(ingress.port, huge)).toMatch(/^HTTP\/1.1 431 [\s\S]*\{"error":"[^"]+"\}$/);
  });
});

describe('a body larger than the limit', () => {
  const url = () => `${ingress.baseUrl}/webhooks/hook`;
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${SECRET}` };

  it('is answered 413 by its announced length', async () => {
    const answer = await sent({ url: url(), headers, body: `"${'x'.repeat(MAX_BODY)}"` });
    expect([answer.status, Object.keys(answer.body)]).toEqual([413, ['error']]);
  });

  it('is answered 413 while it comes in chunks, with no length announced', async () => {
    const parts = Array.from({ length: 30 }, () => Buffer.alloc(1000, ' '));
    const answer = await sent({ url: url(), headers, body: parts });
    expect([answer.status, Object.keys(answer.body)]).toEqual([413, ['error']]);
  });

  it('is taken if it is exactly as large as the limit, in chunks', async () => {
    const tail = '{"text":"fits"}';
    const parts = [Buffer.alloc(MAX_BODY - tail.length, ' '), tail];
    const answer = await sent({ url: url(), headers: { ...headers, 'x-request-id': 'fits' }, body: parts });
    expect(answer.status).toBe(202);
  });
});

describe('the trace of a session', () => {
  const given = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const traceOf = async (answer: Posted) => (await storedEvents(answer.body.session_id))[0]?.meta.traceparent;

  it('exists with telemetry off, and differs for each session', async () => {
    const [one, other] = [await traceOf(await post({})), await traceOf(await post({}))];
    expect(one).toMatch(/^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/);
    expect(one?.slice(3, 35)).not.toBe(other?.slice(3, 35));
  });

  it('continues the traceparent of an authenticated sender', async () => {
    expect(await traceOf(await post({}, { headers: { traceparent: given } }))).toContain(
      '0af7651916cd43dd8448eb211c80319c',
    );
  });

  it('does not continue that of an unauthenticated sender, nor nonsense', async () => {
    const unauthenticated = await sent({
      url: `${ingress.baseUrl}/webhooks/open`,
      headers: { 'content-type': 'application/json', traceparent: given },
      body: '{}',
    });
    expect(await traceOf(unauthenticated)).not.toContain('0af7651916cd43dd8448eb211c80319c');
    const zeros = `00-${'0'.repeat(32)}-b7ad6b7169203331-01`;
    expect(await traceOf(await post({}, { headers: { traceparent: zeros } }))).not.toContain('0'.repeat(32));
  });
});

describe('while Postgres is away', () => {
  it('webhooks are answered 503 with Retry-After, readiness fails, and both recover without help', async () => {
    const readiness = async () =>
      (await rawRequest({ url: `${ingress.baseUrl}/readyz`, method: 'GET' })).status;
    expect(await readiness()).toBe(200);
    await wire.cut();
    const refused = await post({ text: 'x' }, { deliveryId: 'during-outage' });
    expect(refused.status).toBe(503);
    expect(refused.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(Object.keys(refused.body)).toEqual(['error']);
    expect(await readiness()).toBe(503);
    expect((await post({}, { secret: 'wrong' })).status).toBe(401);
    await wire.restore();
    const accepted = await eventually(
      async () => {
        const answer = await post({ text: 'x' }, { deliveryId: 'during-outage' });
        return answer.status !== 503 && answer;
      },
      { describe: 'webhooks are taken again' },
    );
    expect(accepted.status).toBe(202);
    expect(await storedEvents(accepted.body.session_id)).toHaveLength(2);
    expect(await readiness()).toBe(200);
  });
});
