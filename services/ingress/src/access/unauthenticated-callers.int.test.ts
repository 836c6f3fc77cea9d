import { createHmac } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { metrics } from '@angelia/service-kit';
import { eventually } from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ADMIN_TOKEN, startIngress, type TestIngress } from '../testing/ingress.ts';
import { rawRequest } from '../testing/raw-request.ts';
import { MOST_PARTS } from '../webhooks/receive/read-body.ts';

// Invariant strangers-cost-little: over real sockets, with a budget of a few bodies.

const SECRET = 'webhook-secret-kept-in-the-config';
const BODY_BYTES = 100_000;
const BUDGET = 3 * BODY_BYTES;

let database: TestDatabase;
let ingress: TestIngress;
const sockets: Socket[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  ingress = await startIngress({
    databaseUrl: database.url,
    config: {
      secret: SECRET,
      limits: {
        rate_limit: 0,
        max_body_bytes: BODY_BYTES,
        max_unauthenticated_bytes: BUDGET,
        // Every request here comes from the address of the trusted proxy, and names its own address.
        trusted_proxies: ['127.0.0.1'],
      },
      agents: { default: {} },
      routes: { hook: {}, open: { secret: 'INSECURE_NO_AUTH' }, weak: { secret: ['s3cret', SECRET] } },
    },
  });
});

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

afterAll(async () => {
  await ingress?.close();
  await database?.drop();
});

/** Sends, and returns what came back so far. */
function sendRaw(bytes: string): () => string {
  const socket = connect(ingress.port, '127.0.0.1', () => socket.write(bytes)).setEncoding('latin1');
  sockets.push(socket);
  let text = '';
  socket.on('data', (part: string) => {
    text += part;
  });
  // A sender that is refused while it sends may be reset.
  socket.on('error', () => {});
  return () => text;
}

/** All but the last byte of a body. */
function unfinished(path: string): string {
  return `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${BODY_BYTES}\r\n\r\n${'x'.repeat(BODY_BYTES - 1)}`;
}

function signed(body: string): Promise<{ readonly status: number }> {
  return rawRequest({
    url: `${ingress.baseUrl}/webhooks/hook`,
    headers: {
      'content-type': 'application/json',
      'x-hub-signature-256': `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`,
    },
    body,
  });
}

describe('bodies of unauthenticated senders', () => {
  it('beyond the budget the most silent are answered 503, while real webhooks are taken', async () => {
    const answers: (() => string)[] = [];
    for (let n = 0; n < 12; n += 1) {
      answers.push(sendRaw(unfinished('/webhooks/hook')));
      expect((await signed(`{"small":${n}}`)).status).toBe(202);
    }
    const refused = () => answers.filter((answer) => answer().startsWith('HTTP/1.1 503 '));
    await eventually(() => refused().length >= 12 - BUDGET / BODY_BYTES);
    for (const answer of refused()) expect(answer()).toMatch(/\r\nretry-after: \d+\r\n/i);
    // A large one too, because it sends while the others wait.
    expect((await signed(JSON.stringify({ large: 'x'.repeat(BODY_BYTES - 100) }))).status).toBe(202);
    const { items } = await unstarted('crowded_out');
    expect(items[0]).toMatchObject({ route: 'hook', reason: 'crowded_out', status: 503 });
  });

  it('a body in parts of one byte is refused after a bounded number of parts', async () => {
    const head = 'POST /webhooks/hook HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n';
    const answer = sendRaw(head + '1\r\nx\r\n'.repeat(MOST_PARTS + 1));
    await eventually(() => answer() !== '');
    expect(answer()).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer()).toContain('larger');
  });

  it('a body in many parts is put together as it was sent', async () => {
    const body = JSON.stringify({ text: 'abcdefghij'.repeat(5_000) });
    const parts = [];
    // Smaller than a block, larger, and just as large.
    for (let at = 0, size = 1; at < body.length; at += size, size = (size * 3) % 10_007) {
      parts.push(body.slice(at, at + size));
    }
    const { status } = await rawRequest({
      url: `${ingress.baseUrl}/webhooks/hook`,
      headers: {
        'content-type': 'application/json',
        'x-hub-signature-256': `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`,
      },
      body: parts,
    });
    expect(status).toBe(202);
  });

  it.each([
    ['/v1/sessions/00000000-0000-0000-0000-000000000000/cancel', 401],
    ['/v1/nothing/of/the/kind', 401],
    ['/%761/routes/x', 404],
    ['/nowhere', 404],
    ['/webhooks/hook/more', 404],
    ['/callbacks/made-up', 404],
    ['/answers/made-up', 404],
  ])('%s is answered before the body is there', async (path, status) => {
    const answer = sendRaw(unfinished(path));
    await eventually(() => answer() !== '');
    expect(answer()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer()).toMatch(/\r\nconnection: close\r\n/i);
  });
});

async function unstarted(outcome: string): Promise<{ items: Record<string, unknown>[] }> {
  const response = await fetch(`${ingress.baseUrl}/v1/webhooks?outcome=${outcome}`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  return (await response.json()) as { items: Record<string, unknown>[] };
}

describe('a route without a secret', () => {
  const post = (headers: Record<string, string>) =>
    rawRequest({
      url: `${ingress.baseUrl}/webhooks/open`,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: 'a=1',
    });

  it('takes requests of a program, and refuses a page of another origin or host', async () => {
    expect((await post({})).status).toBe(202);
    const foreign = await post({ origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' });
    expect(foreign.status).toBe(403);
    expect(foreign.text).toContain('a page of another site sent the request');
    expect((await post({ host: 'evil.example' })).status).toBe(403);
    const { items } = await unstarted('unauthorized');
    expect(items[0]).toMatchObject({ route: 'open', reason: 'cross_site', status: 403 });
  });
});

describe('/v1', () => {
  const call = (path: string, token: string | null, from: string) =>
    fetch(new URL(path, ingress.baseUrl), {
      headers: {
        'x-forwarded-for': from,
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
    });

  it('slows down guesses of its token, counts them, and logs them once without the token', async () => {
    const before = refusedCalls();
    // All at once, so that even the slowest machine has some to slow down. Unknown addresses are no way around it.
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        call(n % 2 === 0 ? '/v1/sessions' : '/v1/nothing', `guess-number-${n}`, '192.0.2.7'),
      ),
    );
    const slowed = answers.filter(({ status }) => status === 429);
    expect(slowed.length).toBeGreaterThan(0);
    expect(answers.filter(({ status }) => status === 401).length).toBe(60 - slowed.length);
    expect(answers.filter(({ status }) => status === 401).length).toBeGreaterThanOrEqual(10);
    expect(slowed[0]?.headers.get('retry-after')).toBe('1');
    expect(refusedCalls() - before).toBe(60);
    const lines = ingress.logged().split('\n');
    const told = lines.filter((line) => line.includes('wrong admin token'));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain('192.0.2.7');
    expect(ingress.logged()).not.toContain('guess-number');
    // Other clients are not affected.
    expect((await call('/v1/sessions', ADMIN_TOKEN, '192.0.2.8')).status).toBe(200);
  });

  it.each([
    ['/v1/sessions', ADMIN_TOKEN, 200],
    ['/v1/sessions', null, 401],
    ['/v1/sessions?limit=x', ADMIN_TOKEN, 400],
    ['/v1/nothing', ADMIN_TOKEN, 404],
    ['/v1/%', ADMIN_TOKEN, 400],
  ])('the answer of %s is neither cached nor sniffed', async (path, token, status) => {
    const response = await call(path, token, '192.0.2.9');
    expect(response.status).toBe(status);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  });
});

describe('a short secret', () => {
  it.each(['s', '        ', 'whsec_s3'])('%j is refused by name for a route made by API', async (secret) => {
    const response = await fetch(`${ingress.baseUrl}/v1/routes/short`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ secret }),
    });
    expect(response.status).toBe(400);
    expect(((await response.json()) as { error: string }).error).toMatch(
      /^`secret`: a secret has at least 6 characters/,
    );
  });

  it('below 16 characters causes a warning at the start with the name of the route, not the secret', () => {
    const warned = ingress
      .logged()
      .split('\n')
      .filter((line) => line.includes('fewer than 16 characters'))
      .map((line) => JSON.parse(line) as { route: string });
    expect(warned.map(({ route }) => route)).toEqual(['weak']);
    expect(ingress.logged()).not.toContain('s3cret');
  });
});

function refusedCalls(): number {
  return [...metrics.apiRefused.series].reduce((sum, { value }) => sum + value, 0);
}
