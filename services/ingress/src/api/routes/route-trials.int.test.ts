import { randomBytes } from 'node:crypto';
import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { signedPost } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { apiCall } from '../../testing/api-call.ts';
import { startIngress, type TestIngress } from '../../testing/ingress.ts';
import { viewsUpToDate } from '../../testing/views.ts';
import { openWorker, type Worker } from '../../testing/worker.ts';

const SECRET = 'webhook-secret-of-the-file';

let database: TestDatabase;
let ingress: TestIngress;
let worker: Worker;

beforeAll(async () => {
  database = await createTestDatabase();
  ingress = await startIngress({
    databaseUrl: database.url,
    env: { ANGELIA_MASTER_KEY: randomBytes(32).toString('base64') },
    config: {
      secret: SECRET,
      agents: { default: {} },
      routes: {
        'of-file': {
          events: ['push'],
          filters: [{ field: 'ref', equals: 'main' }],
          prompt: 'Look at {ref}',
        },
        tested: { prompt: '{text}', filters: [{ field: 'text', exists: true }] },
        keyed: { prompt: '{text}', session_key: '{key}' },
        off: { enabled: false },
        busy: { prompt: '{text}' },
      },
    },
  });
  worker = openWorker({ databaseUrl: database.url });
});

afterAll(async () => {
  await worker?.close();
  await ingress?.close();
  await database?.drop();
});

const preview = async (body: Record<string, unknown>) => {
  const answer = await apiCall(ingress, '/v1/routes/preview', { method: 'POST', body });
  expect(answer.status).toBe(200);
  return answer.body;
};
const test = (name: string, body: Record<string, unknown>) =>
  apiCall(ingress, `/v1/routes/${name}/test`, { method: 'POST', body });

async function eventCount(): Promise<number> {
  const rows = await database.query('SELECT count(*)::int AS events FROM angelia.events');
  return rows[0]?.events as number;
}

describe('a preview', () => {
  it('judges each filter by itself, renders all templates, and stores nothing', async () => {
    const before = await eventCount();
    const found = await preview({
      name: 'github-pr',
      route: {
        events: ['pull_request'],
        filters: [
          { field: 'action', in: ['opened'] },
          { field: 'draft', equals: true },
          { field: 'number', equals: 7 },
        ],
        prompt: 'Review #{number}: {title}',
        title: 'PR {number} {nope}',
        session_key: 'pr-{number}',
        deliver: 'http',
        deliver_extra: { url: 'https://hooks.example.com/{number}' },
      },
      payload: { action: 'opened', number: 7, draft: false, title: 'Fix it' },
      headers: { 'X-GitHub-Event': 'pull_request', 'x-github-delivery': 'd-1' },
    });
    expect(found).toMatchObject({
      outcome: 'ignored',
      reason: 'filters.1 (draft equals true): draft was false',
      problems: [],
      event: 'pull_request',
      delivery_id: 'd-1',
      wants_event: true,
      filters: [
        { index: 0, passes: true, detail: 'filters.0 (action in ["opened"]): action was "opened"' },
        { index: 1, passes: false },
        { index: 2, passes: true },
      ],
      title: 'PR 7 {nope}',
      missing: ['{nope}'],
      deliver: { target: 'http', to: { url: 'https://hooks.example.com/7' } },
      fallback_target: null,
      script: null,
    });
    expect(found.prompt).toContain('Review #');
    expect(found.prompt).toContain('Fix it');
    expect(found.session_key).toContain('7');
    expect(await eventCount()).toBe(before);
  });

  it('says where the settings are wrong', async () => {
    const found = await preview({
      route: { prompt: 7, filters: [{ field: 'a', regex: '(' }], delver: 'log' },
      payload: {},
    });
    expect(found.outcome).toBe('unusable');
    const places = (found.problems as { place: string }[]).map(({ place }) => place);
    expect(places).toEqual(expect.arrayContaining(['prompt']));
    const unknown = await preview({ route: { agent: 'nobody' }, payload: {} });
    expect(unknown).toMatchObject({ outcome: 'unusable', problems: [{ place: 'agent' }] });
    const variable = await preview({ route: { prompt: ['$', '{HOME}'].join('') }, payload: {} });
    expect(variable).toMatchObject({ outcome: 'unusable', problems: [{ place: 'prompt' }] });
  });

  it('says what a sender would be refused for', async () => {
    const route = {
      prompt: '{a} {b}',
      on_missing: 'refuse',
      deliver: 'http',
      deliver_extra: { url: '{url}' },
    };
    expect(await preview({ route, payload: { a: 1, url: 'nonsense' } })).toMatchObject({
      outcome: 'refused',
      problems: [{ place: 'on_missing' }, { place: 'deliver_extra' }],
      deliver: null,
      missing: ['{b}'],
    });
  });

  it('of a route that exists, also of the config file', async () => {
    const push = { 'x-github-event': 'push' };
    expect(await preview({ name: 'of-file', payload: { ref: 'main' }, headers: push })).toMatchObject({
      outcome: 'starts',
      reason: null,
      filters: [{ passes: true }],
    });
    expect(await preview({ name: 'of-file', payload: { ref: 'main' } })).toMatchObject({
      outcome: 'ignored',
      wants_event: false,
      reason: expect.stringContaining('`events` of the route wants push'),
    });
    for (const [body, status] of [
      [{ name: 'nowhere', payload: {} }, 404],
      [{ payload: {} }, 400],
    ] as const) {
      expect((await apiCall(ingress, '/v1/routes/preview', { method: 'POST', body })).status).toBe(status);
    }
  });
});

describe('a test webhook', () => {
  it('starts a session as a webhook does, marked as a test, and the same again is a duplicate', async () => {
    const first = await test('tested', { payload: { text: 'hello' }, headers: { 'Idempotency-Key': 'k-1' } });
    expect(first).toMatchObject({
      status: 200,
      body: { status: 'accepted', http_status: 202, delivery_id: 'k-1' },
    });
    const id = String(first.body.session_id);
    const { body } = await apiCall(ingress, `/v1/sessions/${id}/events`);
    const [created] = body.items as { type: string; meta: { actor: string } }[];
    expect([created?.type, created?.meta.actor]).toEqual(['session.created', 'test:api']);
    const again = await test('tested', { payload: { text: 'hello' }, headers: { 'idempotency-key': 'k-1' } });
    expect(again.body).toMatchObject({ status: 'duplicate', http_status: 200, session_id: id });
  });

  it('joins the session of its key', async () => {
    const first = await test('keyed', { payload: { text: 'a', key: 'x' } });
    const second = await test('keyed', { payload: { text: 'b', key: 'x' } });
    expect(second.body).toMatchObject({ status: 'accepted', session_id: first.body.session_id });
  });

  it('says why it started nothing', async () => {
    expect((await test('tested', { payload: {} })).body).toMatchObject({
      status: 'ignored',
      http_status: 200,
      session_id: null,
      reason: 'filter',
      detail: 'filters.0 (text exists true): text is missing',
    });
    expect((await test('off', { payload: {} })).body).toMatchObject({
      status: 'refused',
      http_status: 403,
      reason: 'route_disabled',
    });
    expect((await test('nowhere', { payload: {} })).status).toBe(404);
  });
});

describe('the secret of a route', () => {
  const put = (name: string, body: Record<string, unknown> = { prompt: '{text}' }) =>
    apiCall(ingress, `/v1/routes/${name}`, { method: 'PUT', body });
  const rotate = (name: string, body?: Record<string, unknown>, headers = {}) =>
    apiCall(ingress, `/v1/routes/${name}/rotate-secret`, {
      method: 'POST',
      headers,
      ...(body ? { body } : {}),
    });
  const posted = async (route: string, secret: unknown, text: string) =>
    (await signedPost({ baseUrl: ingress.baseUrl, route, secret: String(secret), body: { text } })).status;

  it('is rotated without a moment in which a sender is refused, and the oldest goes with the next rotation', async () => {
    const { secret: first } = (await put('rotated')).body;
    const { secret: second, secrets } = (await rotate('rotated')).body;
    expect(secrets).toBe(2);
    expect([await posted('rotated', first, 'a'), await posted('rotated', second, 'b')]).toEqual([202, 202]);
    const { secret: third } = (await rotate('rotated')).body;
    expect([
      await posted('rotated', first, 'c'),
      await posted('rotated', second, 'd'),
      await posted('rotated', third, 'e'),
    ]).toEqual([401, 202, 202]);
  });

  it('replaces a leaked one at once', async () => {
    const { secret: leaked } = (await put('leaked')).body;
    const { secret, secrets } = (await rotate('leaked', { keep_previous: false })).body;
    expect(secrets).toBe(1);
    expect([await posted('leaked', leaked, 'a'), await posted('leaked', secret, 'b')]).toEqual([401, 202]);
  });

  it('is not rotated for a route of the file, for none, and for a route that has changed', async () => {
    expect((await rotate('tested')).status).toBe(409);
    expect((await rotate('nowhere')).status).toBe(404);
    await put('changed');
    expect((await rotate('changed', {}, { 'if-match': '"7"' })).status).toBe(412);
  });
});

describe('the traffic of routes', () => {
  it('is told on request: the last webhook, the sessions of a day and how many of them failed', async () => {
    const ids: string[] = [];
    for (const text of ['a', 'b'])
      ids.push(String((await test('busy', { payload: { text } })).body.session_id));
    await worker.startsRun(ids[0] ?? '');
    await worker.does(ids[0] ?? '', (state) => ({
      type: 'fail-run',
      generation: state.generation,
      code: 'timeout',
      message: 'too slow',
      text: 'It failed.',
    }));
    await fetch(`${ingress.baseUrl}/webhooks/off`, { method: 'POST', body: '{}' });
    await viewsUpToDate(database);
    const { body } = await apiCall(ingress, '/v1/routes?traffic=true');
    const items = body.items as { name: string; traffic: Record<string, unknown> }[];
    const trafficOf = (name: string) => items.find((route) => route.name === name)?.traffic;
    expect(trafficOf('busy')).toMatchObject({ sessions: 2, failed: 1, exact: true });
    expect(trafficOf('busy')?.last_webhook_at).toBe(trafficOf('busy')?.last_session_at);
    expect(trafficOf('off')).toMatchObject({
      last_webhook_at: expect.any(String),
      last_session_at: null,
      sessions: 0,
      failed: 0,
    });
    const one = await apiCall(ingress, '/v1/routes/busy?traffic=true');
    expect(one.body.traffic).toEqual(trafficOf('busy'));
    expect((await apiCall(ingress, '/v1/routes/busy')).body).not.toHaveProperty('traffic');
  });
});
