import { randomBytes } from 'node:crypto';
import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { signedPost } from '@angelia/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { apiCall } from '../../testing/api-call.ts';
import { startIngress, type TestIngress } from '../../testing/ingress.ts';
import { viewsUpToDate } from '../../testing/views.ts';
import { openWorker, type Worker } from '../../testing/worker.ts';
import type { FigureJson, OverviewJson } from './overview.operations.ts';

const SECRET = 'webhook-secret';

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
      agents: { default: { toolsets: ['clarify'] } },
      routes: { hook: { prompt: '{text}' }, picky: { events: ['release'] } },
    },
  });
  worker = openWorker({ databaseUrl: database.url });
});

afterAll(async () => {
  await worker?.close();
  await ingress?.close();
  await database?.drop();
});

async function newSession(text: string): Promise<string> {
  return (await signedPost({ baseUrl: ingress.baseUrl, route: 'hook', secret: SECRET, body: { text } }))
    .sessionId;
}

async function itemsBehind({ list }: FigureJson): Promise<Record<string, unknown>[]> {
  const { status, body } = await apiCall(ingress, list);
  expect(status).toBe(200);
  return body.items as Record<string, unknown>[];
}

it('counts what goes on, and each figure leads to the list behind it', async () => {
  await newSession('queued');
  await worker.startsRun(await newSession('running'));
  await worker.asks(await newSession('asks'), 'Which one?');
  const answered = await newSession('answered');
  await worker.answers(answered, 'done');
  await worker.delivers(answered);
  const dead = await newSession('dead');
  await worker.answers(dead, 'done');
  await worker.delivers(dead, 'dead');
  const failed = await newSession('failed');
  await worker.startsRun(failed);
  await worker.does(failed, (state) => ({
    type: 'fail-run',
    generation: state.generation,
    code: 'timeout',
    message: 'too slow',
    text: 'It failed.',
  }));
  await ingress.log.deadLetters.record({ streamId: failed, version: 1, handler: 'delivery', reason: 'odd' });
  await fetch(`${ingress.baseUrl}/webhooks/hook`, { method: 'POST', body: '{}' });
  // Ignored, which is not refused.
  await signedPost({ baseUrl: ingress.baseUrl, route: 'picky', secret: SECRET, body: {} });
  await viewsUpToDate(database);

  const { status, body } = await apiCall(ingress, '/v1/overview');
  expect(status).toBe(200);
  const overview = body as unknown as OverviewJson;
  const { sessions, last_hour: lastHour, minutes } = overview;
  const expected: [FigureJson, number][] = [
    [sessions.queued, 1],
    [sessions.running, 1],
    [sessions.waiting, 1],
    [sessions.waiting_for.person, 1],
    [sessions.waiting_for.model, 0],
    [sessions.waiting_for.process, 0],
    [lastHour.failed, 1],
    [lastHour.expired, 0],
    [lastHour.dead_deliveries, 1],
    [lastHour.refused_webhooks, 1],
    [overview.dead_letters, 1],
  ];
  for (const [figure, count] of expected) {
    expect(figure).toMatchObject({ count, exact: true });
    expect([figure.list, (await itemsBehind(figure)).length]).toEqual([figure.list, count]);
  }
  expect(minutes).toHaveLength(60);
  const sum = (of: (minute: OverviewJson['minutes'][number]) => number) =>
    minutes.reduce((total, minute) => total + of(minute), 0);
  expect([sum(({ created }) => created), sum(({ delivered }) => delivered)]).toEqual([6, 1]);
  expect(sum(({ ended }) => ended.succeeded)).toBe(2);
  const measured = minutes.find(({ answered: latency }) => latency !== null);
  expect(measured?.first_status?.p50_ms).toBe(measured?.answered?.p50_ms);
  expect(overview.minutes_exact).toBe(true);

  // Twenty pages at once get the same answer, and cost one.
  const again = await Promise.all(Array.from({ length: 20 }, () => apiCall(ingress, '/v1/overview')));
  expect(new Set(again.map(({ body: one }) => one.at)).size).toBe(1);
});

it('is refused while the views of an earlier version are being rebuilt, instead of showing half of them', async () => {
  const other = await createTestDatabase();
  const another = await startIngress({
    databaseUrl: other.url,
    config: { secret: SECRET, agents: { default: {} }, routes: { hook: {} } },
  });
  try {
    await other.query('UPDATE angelia.view_builds SET version = version - 1');
    expect((await apiCall(another, '/v1/overview')).status).toBe(503);
    expect((await apiCall(another, '/v1/questions')).status).toBe(503);
    await other.query('UPDATE angelia.view_builds SET version = version + 1');
    expect((await apiCall(another, '/v1/overview')).status).toBe(200);
  } finally {
    await another.close();
    await other.drop();
  }
});
