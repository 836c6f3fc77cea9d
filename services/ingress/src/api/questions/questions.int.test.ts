import { randomBytes } from 'node:crypto';
import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { signedPost } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { apiCall } from '../../testing/api-call.ts';
import { startIngress, type TestIngress } from '../../testing/ingress.ts';
import { viewsUpToDate } from '../../testing/views.ts';
import { openWorker, type Worker } from '../../testing/worker.ts';

const SECRET = 'webhook-secret';
const QUESTION = 'question-1';

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
      routes: Object.fromEntries(
        ['listed', 'paged', 'closed', 'answered'].map((name) => [name, { title: '{text}' }]),
      ),
    },
  });
  worker = openWorker({ databaseUrl: database.url });
});

afterAll(async () => {
  await worker?.close();
  await ingress?.close();
  await database?.drop();
});

async function newSession(route: string, text: string): Promise<string> {
  return (await signedPost({ baseUrl: ingress.baseUrl, route, secret: SECRET, body: { text } })).sessionId;
}

async function asks(id: string, question = 'Which one?', choices: string[] = []): Promise<void> {
  await worker.asksFor(id, 'clarify', 'call-1');
  await worker.does(id, (state) => ({
    type: 'request-clarification',
    generation: state.generation,
    clarificationId: QUESTION,
    callId: 'call-1',
    question,
    choices,
    deadline: Date.parse('2030-01-02T03:04:05Z'),
    onTimeout: 'continue',
  }));
}

interface Listed {
  items: { session_id: string; asked_at: string }[];
  next_cursor: string | null;
  count?: number;
}

async function list(query: string): Promise<Listed> {
  const { status, body } = await apiCall(ingress, `/v1/questions?${query}`);
  expect(status).toBe(200);
  return body as unknown as Listed;
}

const answer = (id: string, text: string, over: Record<string, unknown> = {}, headers = {}) =>
  apiCall(ingress, `/v1/sessions/${id}/answers`, {
    method: 'POST',
    headers,
    body: { clarification_id: QUESTION, answer: text, ...over },
  });

async function answersIn(id: string) {
  const { body } = await apiCall(ingress, `/v1/sessions/${id}/events`);
  const events = body.items as { type: string; data: { answer: string }; meta: { actor: string } }[];
  return events.filter(({ type }) => type === 'clarification.answered');
}

describe('the list of open questions', () => {
  it('shows the question that was asked first, first, with all that a person needs to answer it', async () => {
    // The younger session asks first.
    const second = await newSession('listed', 'older session');
    const first = await newSession('listed', 'younger session');
    await asks(first, 'Red or blue?', ['Red', 'Blue']);
    await asks(second);
    await newSession('listed', 'asks nothing');
    await viewsUpToDate(database);
    const { items, next_cursor: cursor, count } = await list('route=listed&count=true');
    expect(items.map(({ session_id: id }) => id)).toEqual([first, second]);
    expect([cursor, count]).toEqual([null, 2]);
    expect(items[0]).toEqual({
      session_id: first,
      clarification_id: QUESTION,
      title: 'younger session',
      route: 'listed',
      agent: 'default',
      turn: 1,
      question: 'Red or blue?',
      choices: ['Red', 'Blue'],
      asked_at: expect.any(String),
      deadline: '2030-01-02T03:04:05.000Z',
      on_timeout: 'continue',
    });
    const { body } = await apiCall(ingress, '/v1/sessions?waiting_for=person&route=listed');
    expect((body.items as { id: string }[]).map(({ id }) => id).sort()).toEqual([first, second].sort());
  });

  it('has pages, and no question twice', async () => {
    const ids: string[] = [];
    for (const text of ['a', 'b', 'c']) {
      const id = await newSession('paged', text);
      await asks(id);
      ids.push(id);
    }
    await viewsUpToDate(database);
    const seen: string[] = [];
    let cursor = '';
    do {
      const page = await list(`route=paged&limit=2${cursor}`);
      seen.push(...page.items.map(({ session_id: id }) => id));
      cursor = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`;
    } while (cursor !== '');
    expect(seen).toEqual(ids);
    expect((await apiCall(ingress, '/v1/questions?cursor=x')).status).toBe(400);
  });

  it('leaves out what was answered, and the session that waits for something else', async () => {
    const closed = await newSession('closed', 'a');
    await asks(closed);
    await answer(closed, 'yes');
    await viewsUpToDate(database);
    expect((await list('route=closed')).items).toEqual([]);
  });
});

describe('an answer in place', () => {
  it('continues the session, and says who gave it', async () => {
    const id = await newSession('answered', 'a');
    await asks(id);
    expect(await answer(id, 'blue é\u0000')).toMatchObject({ status: 202, body: { session_id: id } });
    expect(await answersIn(id)).toMatchObject([{ data: { answer: 'blue é\ufffd' }, meta: { actor: 'api' } }]);
    expect((await apiCall(ingress, `/v1/sessions/${id}`)).body).toMatchObject({ status: 'queued' });
  });

  it('is taken once: of many at the same time one wins, and the others learn who answered what', async () => {
    const id = await newSession('answered', 'b');
    await asks(id);
    const all = await Promise.all(Array.from({ length: 6 }, (_, n) => answer(id, `a${n}`)));
    expect(all.map(({ status }) => status).sort()).toEqual([202, 409, 409, 409, 409, 409]);
    const [taken] = await answersIn(id);
    for (const { body } of all.filter(({ status }) => status === 409)) {
      expect(body).toMatchObject({ reason: 'answered', answered: { by: 'api', answer: taken?.data.answer } });
      expect(body.error).toMatch(/answered already, by api at 20/);
    }
  });

  it('with a key may be repeated', async () => {
    const id = await newSession('answered', 'c');
    await asks(id);
    const headers = { 'idempotency-key': 'k-1' };
    expect((await answer(id, 'x', {}, headers)).status).toBe(202);
    expect((await answer(id, 'x', {}, headers)).status).toBe(202);
    expect(await answersIn(id)).toHaveLength(1);
  });

  it('is refused for a question that is closed or was never asked, and for none at all', async () => {
    const late = await newSession('answered', 'd');
    await asks(late);
    await worker.does(late, () => ({ type: 'time-out-clarification', clarificationId: QUESTION }));
    expect(await answer(late, 'x')).toMatchObject({
      status: 409,
      body: { reason: 'timed_out', answered: null },
    });
    const cancelled = await newSession('answered', 'e');
    await asks(cancelled);
    await worker.does(cancelled, () => ({ type: 'cancel', by: 'api' }));
    expect(await answer(cancelled, 'x')).toMatchObject({ status: 409, body: { reason: 'ended' } });
    const open = await newSession('answered', 'f');
    await asks(open);
    expect((await answer(open, 'x', { clarification_id: 'another' })).status).toBe(404);
    expect((await answer(open, '  \n')).status).toBe(400);
    expect((await answer('0192aaaa-0000-7000-8000-000000000001', 'x')).status).toBe(404);
    expect(await answersIn(open)).toEqual([]);
  });
});
