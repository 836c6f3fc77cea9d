import { randomBytes } from 'node:crypto';
import { parseConfig, sessionId } from '@angelia/contracts';
import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { type CallbackLinks, callbackLinks, signedLinks } from '@angelia/service-kit';
import { signedPost } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { apiCall, expectPromised } from '../testing/api-call.ts';
import { startIngress, type TestIngress } from '../testing/ingress.ts';
import { openWorker, type Worker } from '../testing/worker.ts';

const SECRET = 'webhook-secret';
const MASTER_KEY = randomBytes(32).toString('base64');
const config = {
  secret: SECRET,
  limits: { max_body_bytes: 10_000 },
  agents: { default: { kind: 'http', url: 'https://agent.example/turn', secret: 'of-the-agent' } },
  routes: { hook: { prompt: '{text}' } },
};

let database: TestDatabase;
let ingress: TestIngress;
let worker: Worker;
let links: CallbackLinks;

beforeAll(async () => {
  database = await createTestDatabase();
  ingress = await startIngress({
    databaseUrl: database.url,
    config,
    env: { ANGELIA_MASTER_KEY: MASTER_KEY },
  });
  worker = openWorker({ databaseUrl: database.url });
  const parsed = parseConfig(config);
  if (!parsed.ok) throw new Error('config');
  const made = callbackLinks(parsed.config, {
    service: 'agent-runner',
    masterKey: MASTER_KEY,
    host: '127.0.0.1',
    port: ingress.port,
  });
  if (made === null) throw new Error('no links');
  links = made;
});

afterAll(async () => {
  await worker?.close();
  await ingress?.close();
  await database?.drop();
});

/** A session whose run has asked the agent, which answered 202. */
async function asked() {
  const { sessionId: id } = await signedPost({
    baseUrl: ingress.baseUrl,
    route: 'hook',
    secret: SECRET,
    body: { text: 'hello' },
  });
  await worker.startsRun(id);
  await worker.does(id, ({ generation }) => ({
    type: 'start-agent',
    generation,
    kind: 'http',
    arguments: '{}',
  }));
  return { id, url: links.url({ sessionId: sessionId(id), callId: 'agent-1' }) };
}

async function post(url: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const answer = (await response.json()) as Record<string, unknown>;
  expectPromised('POST', new URL(url).pathname, response.status, answer);
  return { status: response.status, body: answer };
}

async function events(id: string) {
  const { body } = await apiCall(ingress, `/v1/sessions/${id}/events`);
  return body.items as { type: string; data: Record<string, unknown> }[];
}
const interrupt = (id: string) =>
  worker.does(id, ({ generation }) => ({ type: 'interrupt-run', generation, reason: 'drain' }));

describe('the callback of an agent', () => {
  it('is recorded once as the result of its call, however often it comes', async () => {
    const { id, url } = await asked();
    expect(await post(url, { text: 'done é\u0000' })).toEqual({ status: 202, body: { session_id: id } });
    expect((await events(id)).at(-1)).toMatchObject({
      type: 'tool.finished',
      data: { call_id: 'agent-1', outcome: 'ok' },
    });
    const [last] = (await events(id)).slice(-1);
    expect(JSON.parse(String(last?.data.result))).toEqual({ text: 'done é\ufffd' });
    const before = (await events(id)).length;
    const again = await Promise.all([post(url, { text: 'done' }), post(url, { error: 'other' })]);
    expect(again.map(({ status }) => status)).toEqual([202, 202]);
    expect(await events(id)).toHaveLength(before);
  });

  it('is taken while no run waits for it, so that it is not lost with a runner', async () => {
    const { id, url } = await asked();
    await interrupt(id);
    expect((await post(url, { text: '' })).status).toBe(202);
    expect((await events(id)).at(-1)).toMatchObject({
      type: 'tool.finished',
      data: { result: '{"text":""}' },
    });
  });

  it('may say that the work failed', async () => {
    const { id, url } = await asked();
    expect((await post(url, { error: 'out of luck' })).status).toBe(202);
    expect((await events(id)).at(-1)?.data).toMatchObject({
      outcome: 'error',
      result: '{"error":"out of luck"}',
    });
  });

  it('may report what the agent is doing, many times, until the answer', async () => {
    const { id, url } = await asked();
    for (const status of ['reading', 'writing']) expect((await post(url, { status })).status).toBe(202);
    const said = (await events(id)).filter(({ type }) => type === 'session.interim-status');
    expect(said.map(({ data }) => [data.kind, data.sequence, data.text])).toEqual([
      ['agent', 1, 'reading'],
      ['agent', 2, 'writing'],
    ]);
    await interrupt(id);
    expect((await post(url, { status: 'to nobody' })).status).toBe(409);
    expect((await post(url, { text: 'x' })).status).toBe(202);
    expect((await post(url, { status: 'too late' })).status).toBe(410);
  });

  it('is refused with 410 when the turn is over', async () => {
    const { id, url } = await asked();
    await worker.does(id, () => ({ type: 'cancel', by: 'api' }));
    const before = (await events(id)).length;
    for (const body of [{ text: 'x' }, { error: 'x' }, { status: 'x' }]) {
      expect((await post(url, body)).status).toBe(410);
    }
    expect(await events(id)).toHaveLength(before);
  });

  it.each([
    ['nothing', {}],
    ['two things', { text: 'x', status: 'y' }],
    ['no text', { text: 7 }],
    ['an empty error', { error: ' ' }],
    ['more', { text: 'x', more: 1 }],
    ['a list', []],
    ['no JSON', '{"text":'],
  ])('that says %s is refused with 400, and the link stays usable', async (_what, body) => {
    const { id, url } = await asked();
    const before = (await events(id)).length;
    expect((await post(url, body)).status).toBe(400);
    expect(await events(id)).toHaveLength(before);
    expect((await post(url, { text: 'x' })).status).toBe(202);
  });

  it('has a maximum size and a type', async () => {
    const { url } = await asked();
    expect((await post(url, { text: 'x'.repeat(20_000) })).status).toBe(413);
    expect((await post(url, '<text/>', { 'content-type': 'application/xml' })).status).toBe(415);
  });

  it('by a forged link is answered 404, whatever it names', async () => {
    const { id, url } = await asked();
    const token = url.split('/').at(-1) ?? '';
    const changed = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`;
    const signed = signedLinks(MASTER_KEY, 'callback');
    const noSession = signed.token('0192aaaa-0000-7000-8000-000000000001', 'agent-1');
    const forAnswers = signedLinks(MASTER_KEY, 'answer').token(id, 'agent-1');
    const other = signedLinks(randomBytes(32).toString('base64'), 'callback').token(id, 'agent-1');
    for (const forged of [changed, noSession, forAnswers, other, 'x', `${id}.agent-1.`]) {
      const { status } = await post(new URL(`/callbacks/${forged}`, ingress.baseUrl).href, { text: 'x' });
      expect(status).toBe(404);
    }
    // Signed, but for a call that does not exist.
    const { status } = await post(
      new URL(`/callbacks/${signed.token(id, 'agent-2')}`, ingress.baseUrl).href,
      { text: 'x' },
    );
    expect(status).toBe(410);
    expect((await events(id)).at(-1)?.type).toBe('tool.started');
  });

  it('closes no call of a model or of process-watcher', async () => {
    const { sessionId: id } = await signedPost({
      baseUrl: ingress.baseUrl,
      route: 'hook',
      secret: SECRET,
      body: { text: 'hello' },
    });
    await worker.startsRun(id);
    await worker.does(id, ({ generation }) => ({
      type: 'start-agent',
      generation,
      kind: 'command',
      arguments: '{}',
    }));
    const url = links.url({ sessionId: sessionId(id), callId: 'agent-1' });
    expect((await post(url, { text: 'x' })).status).toBe(410);
  });
});
