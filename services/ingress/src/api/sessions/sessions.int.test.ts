import { erasedSubject } from '@angelia/contracts';
import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { signedPost } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiCall, apiCall } from '../../testing/api-call.ts';
import { ADMIN_TOKEN, startIngress, type TestIngress } from '../../testing/ingress.ts';
import { viewsUpToDate } from '../../testing/views.ts';
import { openWorker } from '../../testing/worker.ts';

const SECRET = 'webhook-secret';
const UNKNOWN_ID = '00000000-0000-7000-8000-000000000000';

let database: TestDatabase;
let ingress: TestIngress;

beforeAll(async () => {
  database = await createTestDatabase();
  ingress = await startIngress({
    databaseUrl: database.url,
    config: {
      secret: SECRET,
      agents: { default: {} },
      routes: { hook: { prompt: '{text}', title: 'T {text}' }, other: {}, filtered: { title: 'T {text}' } },
    },
  });
});

afterAll(async () => {
  await ingress?.close();
  await database?.drop();
});

function call(path: string, options: ApiCall = {}) {
  return apiCall(ingress, path, options);
}

async function newSession(text: string, route = 'hook'): Promise<string> {
  const answer = await signedPost({ baseUrl: ingress.baseUrl, route, secret: SECRET, body: { text } });
  expect(answer.status).toBe(202);
  return answer.sessionId;
}

async function failSession(id: string): Promise<void> {
  const worker = openWorker({ databaseUrl: database.url });
  await worker.startsRun(id);
  await worker.does(id, ({ generation }) => ({
    type: 'fail-run',
    generation,
    code: 'timeout',
    message: 'it took too long',
    text: 'sorry',
  }));
  await worker.close();
}

describe('/v1', () => {
  it.each([
    ['no token', null],
    ['a wrong token', 'wrong-admin-token-012'],
    ['a token that is cut short', ADMIN_TOKEN.slice(0, -1)],
    ['an empty token', ''],
  ])('is closed to %s', async (_what, token) => {
    const id = await newSession('x');
    for (const [method, path] of [
      ['GET', '/v1/sessions'],
      ['GET', `/v1/sessions/${id}`],
      ['GET', `/v1/sessions/${id}/events`],
      ['GET', `/v1/sessions/${id}/transcript`],
      ['POST', `/v1/sessions/${id}/cancel`],
    ] as const) {
      const answer = await call(path, { method, token });
      expect([path, answer.status, Object.keys(answer.body)]).toEqual([path, 401, ['error']]);
    }
    expect((await call(`/v1/sessions/${id}`)).body.status).toBe('queued');
  });

  it('does not reveal without the token what exists', async () => {
    const nothing = new URL('/v1/nothing-here', ingress.baseUrl);
    expect((await fetch(nothing)).status).toBe(401);
    const known = await fetch(nothing, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
    expect(known.status).toBe(404);
  });
});

describe('one session', () => {
  it('is shown as it is in the log right after 202', async () => {
    const id = await newSession('hello');
    const { status, body } = await call(`/v1/sessions/${id}`);
    expect(status).toBe(200);
    expect(body).toEqual({
      id,
      title: 'T hello',
      route: 'hook',
      event: 'push',
      delivery_id: expect.any(String),
      status: 'queued',
      waiting_for: null,
      retry_at: null,
      failure: null,
      outcome: null,
      end_reason: null,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      last_activity_at: expect.stringMatching(/Z$/),
      ended_at: null,
      generation: 0,
      version: 2,
      agent: 'default',
      model: null,
      usage: { input_tokens: 0, output_tokens: 0 },
      deliver: { target: 'log', to: {} },
      deliveries: { pending: 0, delivered: 0, dead: 0, dropped: 0 },
      processes: [],
      trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
  });

  it('has its events and its transcript', async () => {
    const id = await newSession('what is this');
    const { items } = (await call(`/v1/sessions/${id}/events`)).body as { items: Record<string, unknown>[] };
    expect(items.map((item) => [item.version, item.type])).toEqual([
      [1, 'session.created'],
      [2, 'turn.requested'],
    ]);
    expect(Object.keys(items[0] ?? {}).sort()).toEqual([
      'data',
      'meta',
      'position',
      'recorded_at',
      'type',
      'version',
    ]);
    expect(items[0]?.position).toEqual(expect.any(Number));
    const { messages } = (await call(`/v1/sessions/${id}/transcript`)).body;
    expect(messages).toEqual([expect.objectContaining({ role: 'user', content: 'what is this' })]);
  });

  it.each(['', '/events', '/transcript'])('that is unknown is answered 404 (%s)', async (path) => {
    expect((await call(`/v1/sessions/${UNKNOWN_ID}${path}`)).status).toBe(404);
  });

  it('is not found by a shortened id; the answer asks for the whole id', async () => {
    const id = await newSession('x');
    for (const short of [id.slice(0, 8), id.slice(0, -1), id.toUpperCase(), `${id}0`]) {
      const { status, body } = await call(`/v1/sessions/${short}`);
      expect([short, status]).toEqual([short, 400]);
      expect(body.error).toContain('whole');
    }
  });
});

describe('cancel', () => {
  it('ends the session, tells its runner at once, and may be repeated', async () => {
    const id = await newSession('stop me');
    for (const _ of [1, 2]) {
      const { status, body } = await call(`/v1/sessions/${id}/cancel`, { method: 'POST' });
      expect([status, body]).toEqual([202, { session_id: id }]);
    }
    expect(ingress.pings.filter((subject) => subject.includes(id))).toEqual([`angelia.cancel.${id}`]);
    const { body } = await call(`/v1/sessions/${id}`);
    expect(body).toMatchObject({ status: 'ended', outcome: 'cancelled', end_reason: 'webhook_complete' });
    const { items } = (await call(`/v1/sessions/${id}/events`)).body as {
      items: { type: string; meta: { actor: string } }[];
    };
    expect(items.filter((item) => item.type === 'session.ended').map((item) => item.meta.actor)).toEqual([
      'api',
    ]);
  });

  it('of an unknown session is answered 404', async () => {
    expect((await call(`/v1/sessions/${UNKNOWN_ID}/cancel`, { method: 'POST' })).status).toBe(404);
    expect((await call('/v1/sessions/abc/cancel', { method: 'POST' })).status).toBe(400);
  });
});

describe('the list of sessions', () => {
  it('comes in pages, newest first, by route and status, and misses none', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push(await newSession(`n${n}`, 'other'));
    await call(`/v1/sessions/${ids[0]}/cancel`, { method: 'POST' });
    await viewsUpToDate(database);

    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const from: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { status, body } = await call(`/v1/sessions?route=other&limit=2${from}`);
      expect(status).toBe(200);
      const items = body.items as { id: string; route: string }[];
      expect(items.length).toBeLessThanOrEqual(2);
      seen.push(...items.map((item) => item.id));
      cursor = body.next_cursor as string | null;
    } while (cursor !== null);
    expect([...seen].sort()).toEqual([...ids].sort());

    const ended = (await call('/v1/sessions?route=other&status=ended')).body.items;
    expect(ended).toEqual([expect.objectContaining({ id: ids[0], outcome: 'cancelled' })]);
    expect((ended as unknown[])[0]).toEqual((await call(`/v1/sessions/${ids[0]}`)).body);
  });

  it('is filtered by outcome, time, agent, model, failure, title, id and delivery id, sorted and counted', async () => {
    const ids: string[] = [];
    for (const text of ['alpha', 'beta', 'gamma']) ids.push(await newSession(text, 'filtered'));
    const [alpha = '', beta = '', gamma = ''] = ids;
    await call(`/v1/sessions/${alpha}/cancel`, { method: 'POST' });
    await failSession(beta);
    await viewsUpToDate(database);
    const shown = async (query: string) => {
      const { status, body } = await call(`/v1/sessions?route=filtered&${query}`);
      expect([query, status]).toEqual([query, 200]);
      return (body.items as { id: string }[]).map(({ id }) => id);
    };
    const { body } = await call(`/v1/sessions/${beta}`);
    expect(body).toMatchObject({
      outcome: 'failed',
      failure: { code: 'timeout', message: 'it took too long' },
    });
    for (const [query, expected] of [
      ['outcome=cancelled', [alpha]],
      ['outcome=failed', [beta]],
      ['failure=timeout', [beta]],
      ['failure=budget', []],
      ['agent=default', [gamma, beta, alpha]],
      ['agent=nobody', []],
      ['model=main', []],
      ['since=15m', [gamma, beta, alpha]],
      ['until=15m', []],
      ['since=2020-01-01', [gamma, beta, alpha]],
      ['until=2020-01-01T00:00:00%2B01:00', []],
      ['until=2020-01-01T00:00Z', []],
      [`until=${body.created_at}`, [alpha]],
      ['q=T%20BETA', [beta]],
      [`q=${gamma.slice(0, 20)}`, [gamma]],
      [`q=${encodeURIComponent(String(body.delivery_id))}`, [beta]],
      ['q=nothing', []],
      [`id=${alpha.slice(0, 20)}`, [alpha]],
      ['sort=oldest', [alpha, beta, gamma]],
      ['sort=active&limit=1', [beta]],
      ['status=ended&outcome=failed&since=1h&q=beta&count=true', [beta]],
    ] as const) {
      expect([query, await shown(query)]).toEqual([query, expected]);
    }
    for (const name of ['agent', 'model', 'failure', 'title', 'delivery_id', 'q']) {
      const { status } = await call(`/v1/sessions?${name}=%00`);
      expect([name, status]).toEqual([name, 400]);
    }
    // `q` would replace the other one.
    for (const other of ['title=beta', 'delivery_id=d', 'id=01']) {
      const refused = await call(`/v1/sessions?route=filtered&q=alpha&${other}`);
      expect([refused.status, refused.body.error]).toEqual([400, expect.stringContaining('`q`')]);
    }
    const counted = (await call('/v1/sessions?route=filtered&limit=1&count=true')).body;
    expect(counted).toMatchObject({ count: 3, count_exact: true });
    expect(counted.items).toHaveLength(1);
  });

  it('is filtered by the session that it continues', async () => {
    const id = await newSession('first');
    await failSession(id);
    const said = await call(`/v1/sessions/${id}/messages`, { method: 'POST', body: { text: 'second' } });
    expect(said.status).toBe(202);
    const next = said.body.session_id;
    await viewsUpToDate(database);
    const { body } = await call(`/v1/sessions?continues=${id}`);
    expect((body.items as { id: string }[]).map((one) => one.id)).toEqual([next]);
    expect((await call(`/v1/sessions?continues=${next}`)).body.items).toEqual([]);
  });

  it.each([
    'continues=x',
    'limit=0',
    'limit=201',
    'limit=x',
    'limit=1.5',
    'status=open',
    'cursor=nonsense',
    `cursor=${Buffer.from('["x","y"]').toString('base64url')}`,
    `cursor=${Buffer.from('[1e300,1]').toString('base64url')}`,
    'cursor=',
    'nothing=1',
    'route=a&route=b',
    'route=%00',
    'outcome=done',
    'since=yesterday',
    'since=15',
    'until=15y',
    'sort=title',
    'count=yes',
    'q=',
    'id=xyz',
  ])('refuses %s with 400', async (query) => {
    const { status, body } = await call(`/v1/sessions?${query}`);
    expect([query, status]).toEqual([query, 400]);
    expect(body.error).toContain(query.split('=')[0]);
  });
});

describe('DELETE /v1/sessions/{id}', () => {
  it('erases a settled session; its webhook is still recognised', async () => {
    const post = { baseUrl: ingress.baseUrl, route: 'hook', secret: SECRET, body: { text: 'erase me' } };
    const first = await signedPost({ ...post, deliveryId: 'erase-1' });
    expect((await call(`/v1/sessions/${first.sessionId}/cancel`, { method: 'POST' })).status).toBe(202);
    const early = await call(`/v1/sessions/${first.sessionId}`, { method: 'DELETE' });
    expect([early.status, early.body.error]).toEqual([503, expect.stringContaining('not caught up')]);
    await viewsUpToDate(database);
    // No relay runs in this test.
    await database.query("UPDATE angelia.checkpoints SET epoch = 1000 WHERE name = 'relay'");
    expect((await call(`/v1/sessions/${first.sessionId}`, { method: 'DELETE' })).body).toEqual({
      session_id: first.sessionId,
    });
    // Watchers end its processes and remove its files.
    expect(ingress.pings).toContain(erasedSubject(first.sessionId));
    expect((await call(`/v1/sessions/${first.sessionId}`)).status).toBe(404);
    expect((await call(`/v1/sessions/${first.sessionId}`, { method: 'DELETE' })).status).toBe(404);
    const rows = await database.query('SELECT 1 FROM angelia.events WHERE stream_id = $1', [first.sessionId]);
    expect(rows).toEqual([]);
    const again = await signedPost({ ...post, deliveryId: 'erase-1' });
    expect([again.status, again.sessionId]).toEqual([200, first.sessionId]);
  });

  it('does not touch a session that is running', async () => {
    const id = await newSession('at work');
    const answer = await call(`/v1/sessions/${id}`, { method: 'DELETE' });
    expect([answer.status, answer.body.error]).toEqual([409, expect.stringContaining('cancel it')]);
    expect((await call(`/v1/sessions/${id}`)).status).toBe(200);
  });
});
