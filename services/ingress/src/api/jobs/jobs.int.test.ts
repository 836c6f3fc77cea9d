import { randomUUID } from 'node:crypto';
import { JOBS_PING_SUBJECT } from '@angelia/contracts';
import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { runJobs } from '@angelia/jobs';
import { KeyedSessions, Sessions } from '@angelia/sessions';
import { eventually, signedPost } from '@angelia/testkit';
import { WakeUp } from '@angelia/waiting';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiCall, apiCall } from '../../testing/api-call.ts';
import { startIngress, type TestIngress } from '../../testing/ingress.ts';
import { viewsUpToDate } from '../../testing/views.ts';
import { openWorker, type Worker } from '../../testing/worker.ts';

const SECRET = 'webhook-secret';

let database: TestDatabase;
let ingress: TestIngress;
let worker: Worker;

beforeAll(async () => {
  database = await createTestDatabase();
  ingress = await startIngress({
    databaseUrl: database.url,
    config: {
      secret: SECRET,
      agents: { default: {} },
      limits: { rate_limit: 0 },
      routes: { a: { title: 'T {text}' }, b: {}, c: {}, d: {} },
    },
  });
  worker = openWorker({ databaseUrl: database.url });
});
afterAll(async () => {
  await worker?.close();
  await ingress?.close();
  await database?.drop();
});

/** Only so many jobs may wait. Those that a test left are carried out. */
afterEach(() =>
  whileLeading(async () => {
    const isOver = ({ status }: { status: string }) => ['finished', 'cancelled'].includes(status);
    await eventually(async () =>
      ((await call('/v1/jobs?limit=100')).body.items as { status: string }[]).every(isOver),
    );
  }),
);

const call = (path: string, options: ApiCall = {}) => apiCall(ingress, path, options);
const post = (body: unknown, headers: Record<string, string> = {}) =>
  call('/v1/jobs', { method: 'POST', body, headers });

async function newSession(route: string, text = 'x'): Promise<string> {
  const answer = await signedPost({ baseUrl: ingress.baseUrl, route, secret: SECRET, body: { text } });
  expect(answer.status).toBe(202);
  return answer.sessionId;
}

/** Carries out what is requested, as a leader does. */
async function whileLeading(work: () => Promise<void>): Promise<void> {
  const stopping = new AbortController();
  const { log } = ingress;
  const sessions = new Sessions({ log, instance: 'leader' });
  const leading = runJobs({
    log,
    sessions,
    keyed: new KeyedSessions({ log, sessions, instance: 'leader' }),
    bus: { ping: () => {}, publishHints: async () => {} },
    signal: stopping.signal,
    wake: new WakeUp(),
    itemsPerSecond: 10_000,
  });
  await work();
  stopping.abort();
  await leading;
}

const untilOver = (id: unknown) =>
  eventually(async () => {
    const { body } = await call(`/v1/jobs/${id}`);
    return ['finished', 'cancelled'].includes(String(body.status)) ? body : null;
  });

describe('POST /v1/jobs', () => {
  it('with dry_run counts, shows the first ten and does nothing', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 12; n += 1) ids.push(await newSession('a', `n${n}`));
    await viewsUpToDate(database);
    const jobsBefore = (await call('/v1/jobs')).body.items;
    const { status, body } = await post({ action: 'cancel', filter: { route: 'a' }, dry_run: true });
    expect(status).toBe(200);
    expect(body).toMatchObject({ job_id: null, matches: 12, matches_exact: true });
    expect((body.sample as { id: string }[]).map(({ id }) => id)).toEqual(ids.toSorted().slice(0, 10));
    expect((body.sample as { title: string }[])[0]?.title).toBe('T n0');
    expect((await call('/v1/jobs')).body.items).toEqual(jobsBefore);
    expect((await call(`/v1/sessions/${ids[0]}`)).body.status).toBe('queued');
  });

  it('requests a job that a leader carries out; its progress and result can be read', async () => {
    const [first = '', second = ''] = [await newSession('b'), await newSession('b')];
    await viewsUpToDate(database);
    const { status, body } = await post({ action: 'cancel', filter: { route: 'b', since: '1h' } });
    expect(status).toBe(202);
    expect(body).toMatchObject({ job_id: expect.any(String), matches: 2 });
    expect(ingress.pings).toContain(JOBS_PING_SUBJECT);
    expect((await call(`/v1/jobs/${body.job_id}`)).body).toMatchObject({
      status: 'queued',
      action: 'cancel',
      filter: { route: 'b', since: expect.stringMatching(/^\d{4}-.*Z$/) },
      done: 0,
      requested_by: 'api',
      started_at: null,
      ended_at: null,
    });
    await whileLeading(async () => {
      expect(await untilOver(body.job_id)).toMatchObject({
        status: 'finished',
        done: 2,
        skipped: 0,
        failed: 0,
        started_at: expect.any(String),
        ended_at: expect.any(String),
      });
    });
    for (const id of [first, second])
      expect((await call(`/v1/sessions/${id}`)).body).toMatchObject({ outcome: 'cancelled' });
  });

  it('keeps what a text meant when the job was requested', async () => {
    const id = await newSession('c', 'first');
    const other = await newSession('c', 'other');
    const deliveryId = String((await call(`/v1/sessions/${id}`)).body.delivery_id);
    await worker.does(other, () => ({ type: 'cancel', by: 'test' }));
    await worker.does(id, () => ({ type: 'cancel', by: 'test' }));
    await viewsUpToDate(database);
    const { body } = await post({ action: 'erase', filter: { q: deliveryId } });
    expect(body).toMatchObject({ matches: 1, sample: [{ id }] });
    const job = (await call(`/v1/jobs/${body.job_id}`)).body;
    expect(job.filter).toEqual({ delivery_id: deliveryId });
    await call(`/v1/jobs/${body.job_id}/cancel`, { method: 'POST' });
    await whileLeading(async () => void (await untilOver(body.job_id)));
  });

  it('shows deliveries and dead letters as their lists do', async () => {
    const id = await newSession('d');
    await worker.answers(id, 'done');
    await worker.delivers(id, 'dead');
    await ingress.log.deadLetters.record({ streamId: id, version: 1, handler: 'delivery', reason: 'why' });
    await viewsUpToDate(database);
    const deliveries = await post({ action: 'retry-deliveries', filter: { route: 'd' }, dry_run: true });
    expect(deliveries.body).toMatchObject({ matches: 1, sample: [{ session_id: id, status: 'dead' }] });
    const letters = await post({ action: 'replay-dead-letters', filter: { session: id }, dry_run: true });
    expect(letters.body).toMatchObject({ matches: 1, sample: [{ stream_id: id, reason: 'why' }] });
    expect((await post({ action: 'replay-dead-letters', dry_run: true })).body.matches).toBe(1);
    const none = await post({
      action: 'retry-deliveries',
      filter: { target: 'nowhere' },
      dry_run: true,
    });
    expect(none.body).toMatchObject({ matches: 0, sample: [] });
  });

  it('with an Idempotency-Key is taken once', async () => {
    const key = { 'idempotency-key': randomUUID() };
    const body = { action: 'cancel', filter: { route: 'a', status: 'running' } };
    const [first, second] = [await post(body, key), await post(body, key)];
    expect(second.body.job_id).toBe(first.body.job_id);
    expect((await post(body)).body.job_id).not.toBe(first.body.job_id);
  });

  it('refuses replay with 422, because that comes later', async () => {
    const { status, body } = await post({ action: 'replay', filter: { route: 'a' } });
    expect([status, body.error]).toEqual([422, expect.stringContaining('`replay` is not available yet')]);
  });

  it.each<[unknown, string]>([
    [{}, 'action'],
    [{ action: 'explode' }, 'action'],
    [{ action: 'cancel', filter: {} }, 'filter'],
    [{ action: 'erase' }, 'filter'],
    [{ action: 'cancel', filter: { rout: 'a' } }, 'rout'],
    [{ action: 'cancel', filter: { since: 'soon' } }, 'filter.since'],
    [{ action: 'cancel', filter: { status: 'ended' } }, 'filter.status'],
    [{ action: 'erase', filter: { status: 'queued' } }, 'filter.status'],
    [{ action: 'erase', filter: { title: 'a', q: 'b' } }, 'filter.q'],
    [{ action: 'erase', filter: { title: 'a\ud800' } }, 'filter.title'],
    [{ action: 'replay-dead-letters', filter: { handler: '\0' } }, 'filter.handler'],
    [{ action: 'retry-deliveries', filter: { outcome: 'failed' } }, 'outcome'],
    [{ action: 'cancel', filter: { route: 'a' }, dry: true }, 'dry'],
  ])('refuses %j', async (body, place) => {
    const refused = await post(body);
    expect([refused.status, refused.body.error]).toEqual([400, expect.stringContaining(place)]);
  });

  it('is closed without the token', async () => {
    const { status } = await call('/v1/jobs', { method: 'POST', body: {}, token: null });
    expect(status).toBe(401);
  });
});

describe('jobs', () => {
  it('are listed newest first, in pages, and found by the beginning of their id', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1)
      ids.push(String((await post({ action: 'cancel', filter: { agent: `nobody-${n}` } })).body.job_id));
    const first = (await call('/v1/jobs?limit=2')).body;
    const second = (await call(`/v1/jobs?limit=1&cursor=${first.next_cursor}`)).body;
    const shown = [first, second].flatMap(({ items }) => items as { job_id: string }[]);
    expect(shown.map(({ job_id: id }) => id)).toEqual(ids.toReversed());
    const found = (await call(`/v1/jobs?id=${ids[1]?.slice(0, 30)}`)).body.items as { job_id: string }[];
    expect(found.map(({ job_id: id }) => id)).toEqual([ids[1]]);
  });

  it('that are unknown are answered 404, and what is no id 400', async () => {
    expect((await call(`/v1/jobs/${randomUUID()}`)).status).toBe(404);
    expect((await call(`/v1/jobs/${randomUUID()}/cancel`, { method: 'POST' })).status).toBe(404);
    expect((await call('/v1/jobs/7')).status).toBe(400);
  });

  it('can be cancelled, more than once, but not when they are over', async () => {
    const cancelled = (await post({ action: 'cancel', filter: { agent: 'x' } })).body.job_id;
    for (const _ of [1, 2]) {
      const { status, body } = await call(`/v1/jobs/${cancelled}/cancel`, { method: 'POST' });
      expect([status, body]).toEqual([202, { job_id: cancelled }]);
    }
    const over = (await post({ action: 'cancel', filter: { agent: 'y' } })).body.job_id;
    await whileLeading(async () => {
      expect((await untilOver(cancelled)).status).toBe('cancelled');
      expect((await untilOver(over)).status).toBe('finished');
    });
    const late = await call(`/v1/jobs/${over}/cancel`, { method: 'POST' });
    expect([late.status, late.body.error]).toEqual([409, expect.stringContaining('it has finished')]);
  });

  it('wait in a queue of bounded length', async () => {
    let last = await post({ action: 'cancel', filter: { agent: 'z' } });
    for (let n = 0; n < 25 && last.status === 202; n += 1)
      last = await post({ action: 'cancel', filter: { agent: 'z' } });
    expect([last.status, last.body.error]).toEqual([409, expect.stringContaining('20 jobs wait')]);
    // A preview is still possible.
    expect((await post({ action: 'cancel', filter: { agent: 'z' }, dry_run: true })).status).toBe(200);
  });
});
