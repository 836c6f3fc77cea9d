import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { signedPost } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { apiCall } from '../../testing/api-call.ts';
import { startIngress, type TestIngress } from '../../testing/ingress.ts';
import { viewsUpToDate } from '../../testing/views.ts';
import { openWorker, type Worker } from '../../testing/worker.ts';

const SECRET = 'webhook-secret';

let database: TestDatabase;
let ingress: TestIngress;
let worker: Worker;
/** Three sessions of a route of their own: one delivered, one dead, one whose answer waits. */
let delivered: string;
let dead: string;
let pending: string;

beforeAll(async () => {
  database = await createTestDatabase();
  ingress = await startIngress({
    databaseUrl: database.url,
    config: {
      secret: SECRET,
      agents: { default: {} },
      routes: { hook: { prompt: '{text}' }, listed: {}, bulk: {}, beside: {} },
    },
  });
  worker = openWorker({ databaseUrl: database.url });
  [delivered, dead, pending] = [
    await answered('a', 'listed'),
    await answered('b', 'listed'),
    await answered('c', 'listed'),
  ];
  await worker.delivers(delivered);
  await worker.delivers(dead, 'dead');
  await rebuild();
});

afterAll(async () => {
  await worker?.close();
  await ingress?.close();
  await database?.drop();
});

const rebuild = () => viewsUpToDate(database);

async function newSession(text: string, route = 'hook'): Promise<string> {
  const answer = await signedPost({
    baseUrl: ingress.baseUrl,
    route,
    secret: SECRET,
    body: { text },
  });
  expect(answer.status).toBe(202);
  return answer.sessionId;
}

async function answered(text: string, route?: string): Promise<string> {
  const id = await newSession(text, route);
  await worker.answers(id, 'done');
  return id;
}

async function list(query: string) {
  const { status, body } = await apiCall(ingress, `/v1/deliveries?${query}`);
  expect(status).toBe(200);
  return body as { items: Record<string, unknown>[]; next_cursor: string | null };
}

const retry = (id: string) => apiCall(ingress, `/v1/deliveries/${id}/retry`, { method: 'POST' });

describe('the list of deliveries', () => {
  it('shows each with its result', async () => {
    expect((await list(`session=${delivered}`)).items).toEqual([
      {
        id: `${delivered}.4`,
        session_id: delivered,
        output: 4,
        kind: 'final-response',
        turn: 1,
        target: 'log',
        via: 'target',
        status: 'delivered',
        attempts: 1,
        next_attempt_at: null,
        reason: null,
        receipt: 'r-1',
        possible_duplicate: false,
        created_at: expect.stringMatching(/Z$/),
        updated_at: expect.stringMatching(/Z$/),
      },
    ]);
    expect((await list(`session=${dead}`)).items).toMatchObject([
      { status: 'dead', reason: 'gone for good' },
    ]);
    const [waiting] = (await list(`session=${pending}`)).items;
    expect(waiting).toMatchObject({ status: 'pending', attempts: 0 });
    expect(waiting?.next_attempt_at).toEqual(expect.stringMatching(/Z$/));
  });

  it('can be filtered by status and comes in pages', async () => {
    expect((await list('route=listed&status=dead')).items.map((item) => item.session_id)).toEqual([dead]);
    const seen: unknown[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof list>> = await list(
        `route=listed&limit=1${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      expect(page.items.length).toBeLessThanOrEqual(1);
      seen.push(...page.items.map((item) => item.session_id));
      cursor = page.next_cursor;
    } while (cursor !== null);
    expect([...seen].sort()).toEqual([delivered, dead, pending].sort());
  });

  it.each(['status=gone', 'session=abc', 'cursor=x', 'limit=0', 'color=red', 'route=NO'])(
    'refuses %s with 400 that names it',
    async (query) => {
      const { status, body } = await apiCall(ingress, `/v1/deliveries?${query}`);
      expect([status, body.error]).toEqual([400, expect.stringContaining(query.split('=')[0] as string)]);
    },
  );
});

describe('retry', () => {
  it('of a dead delivery makes it pending again, once', async () => {
    const id = await answered('again');
    await worker.delivers(id, 'dead');
    for (const _ of [1, 2]) {
      const { status, body } = await retry(`${id}.4`);
      expect([status, body]).toEqual([202, { id: `${id}.4`, session_id: id }]);
    }
    const { body } = await apiCall(ingress, `/v1/sessions/${id}`);
    expect(body.deliveries).toMatchObject({ pending: 1, dead: 0 });
    const { items } = (await apiCall(ingress, `/v1/sessions/${id}/events`)).body as {
      items: { type: string; meta: { actor: string } }[];
    };
    const asked = items.filter(({ type }) => type === 'delivery.retry-requested');
    expect(asked.map(({ meta }) => meta.actor)).toEqual(['api']);
  });

  it('is answered 409 for a delivered one, 404 for an unknown output, 400 for a wrong id, 401 without the token', async () => {
    expect(await retry(`${delivered}.4`)).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining('delivered') },
    });
    expect((await retry(`${delivered}.2`)).status).toBe(404);
    expect((await retry(`${delivered}.99`)).status).toBe(404);
    expect((await retry('00000000-0000-7000-8000-000000000000.4')).status).toBe(404);
    for (const bad of [delivered, `${delivered}.0`, `${delivered}.x`, `${delivered.slice(1)}.4`, '4']) {
      expect([bad, (await retry(bad)).status]).toEqual([bad, 400]);
    }
    const path = `/v1/deliveries/${dead}.4/retry`;
    expect((await apiCall(ingress, path, { method: 'POST', token: null })).status).toBe(401);
    expect((await apiCall(ingress, '/v1/deliveries', { token: null })).status).toBe(401);
  });
});

describe('retry of many', () => {
  const retryMany = (body: unknown) => apiCall(ingress, '/v1/deliveries/retry', { method: 'POST', body });
  const deadOn = async (route: string, count: number): Promise<string[]> => {
    const ids: string[] = [];
    for (let n = 0; n < count; n += 1) {
      const { sessionId } = await signedPost({
        baseUrl: ingress.baseUrl,
        route,
        secret: SECRET,
        body: { text: 'many' },
      });
      await worker.answers(sessionId, 'done');
      await worker.delivers(sessionId, 'dead');
      ids.push(`${sessionId}.4`);
    }
    return ids;
  };

  it('takes exactly those that match the filters, up to the limit, and says whether some are left', async () => {
    const mine = await deadOn('bulk', 3);
    const [other] = await deadOn('beside', 1);
    await rebuild();
    const filter = { status: 'dead', route: 'bulk' };
    expect((await list('status=dead&route=bulk')).items).toHaveLength(3);
    expect(await retryMany({ ...filter, target: 'telegram' })).toMatchObject({
      status: 202,
      body: { retried: [], refused: [], more: false },
    });
    const first = await retryMany({ ...filter, target: 'log', limit: 2 });
    expect(first).toMatchObject({ status: 202, body: { refused: [], more: true } });
    // The view may be behind: a delivery that is pending again does not count twice.
    const second = await retryMany(filter);
    expect(second.body).toMatchObject({ refused: [], more: false });
    const retried = [first, second].map(({ body }) => body.retried as string[]);
    expect(retried.map((ids) => ids.length)).toEqual([2, 1]);
    expect(retried.flat().sort()).toEqual([...mine].sort());
    const [session = ''] = (other ?? '').split('.');
    expect((await apiCall(ingress, `/v1/sessions/${session}`)).body.deliveries).toMatchObject({ dead: 1 });
    expect((await retryMany({ status: 'dead', session })).body).toMatchObject({ retried: [other] });
  });

  it.each([
    ['no status', {}],
    ['a status that is not dead', { status: 'pending' }],
    ['a session that is none', { status: 'dead', session: 'abc' }],
    ['a limit without bounds', { status: 'dead', limit: 100_000 }],
    ['an unknown filter', { status: 'dead', color: 'red' }],
  ])('refuses %s with 400', async (_what, body) => {
    expect((await retryMany(body)).status).toBe(400);
  });

  it('needs the token', async () => {
    const request = { method: 'POST', body: { status: 'dead' }, token: null };
    expect((await apiCall(ingress, '/v1/deliveries/retry', request)).status).toBe(401);
  });
});

describe('processes', () => {
  it('are listed by session and in pages; a kill is a fact that the watcher acts on', async () => {
    const one = await newSession('p1');
    const two = await newSession('p2');
    await worker.startsProcess(one, 'proc_1');
    await worker.startsProcess(two, 'proc_2');
    await worker.does(two, () => ({
      type: 'process-exited',
      processId: 'proc_2',
      exitCode: 7,
      signal: null,
      durationSeconds: 1,
      outputTail: '',
    }));
    await rebuild();
    const { body } = await apiCall(ingress, `/v1/processes?session=${one}`);
    expect(body).toEqual({
      items: [
        {
          id: 'proc_1',
          session_id: one,
          status: 'running',
          command: 'sleep 600',
          host: 'host-1',
          pid: 4242,
          started_at: expect.stringMatching(/Z$/),
          ended_at: null,
          exit_code: null,
          signal: null,
          notify_on_complete: true,
          watched: false,
        },
      ],
      next_cursor: null,
    });
    const first = (await apiCall(ingress, '/v1/processes?limit=1')).body;
    const second = (await apiCall(ingress, `/v1/processes?limit=1&cursor=${first.next_cursor}`)).body;
    const ids = [first, second].flatMap(({ items }) => (items as { id: string }[]).map(({ id }) => id));
    expect(ids.sort()).toEqual(['proc_1', 'proc_2']);
    expect(second.next_cursor).toBeNull();

    const kill = (id: string) => apiCall(ingress, `/v1/processes/${id}/kill`, { method: 'POST' });
    expect(await kill('proc_1')).toMatchObject({
      status: 202,
      body: { id: 'proc_1', session_id: one },
    });
    expect((await kill('proc_1')).status).toBe(202);
    const { body: log } = await apiCall(ingress, `/v1/sessions/${one}/events`);
    const asked = (log.items as { type: string; data: unknown }[]).filter(
      ({ type }) => type === 'process.kill-requested',
    );
    expect(asked.map(({ data }) => data)).toEqual([{ process_id: 'proc_1', by: 'api' }]);
    expect(await kill('proc_2')).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining('exited') },
    });
    expect((await kill('proc_3')).status).toBe(404);
    const output = (query: string) => apiCall(ingress, `/v1/processes/proc_1/output${query}`);
    expect((await output('?bytes=0')).status).toBe(400);
    expect((await output('?offset=-1')).status).toBe(400);
    expect(await output('')).toMatchObject({
      status: 503,
      body: { error: expect.stringContaining('does not answer') },
    });
    expect((await apiCall(ingress, '/v1/processes?session=abc')).status).toBe(400);
    expect((await apiCall(ingress, '/v1/processes', { token: null })).status).toBe(401);
  });
});
