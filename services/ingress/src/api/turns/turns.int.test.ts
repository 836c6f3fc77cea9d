import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { signedPost } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiAnswer, apiCall } from '../../testing/api-call.ts';
import { startIngress, type TestIngress } from '../../testing/ingress.ts';
import { openWorker, type Worker } from '../../testing/worker.ts';

const SECRET = 'webhook-secret';
const UNKNOWN_ID = '00000000-0000-7000-8000-000000000000';

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
      targets: { http: {} },
      routes: {
        hook: { prompt: '{text}', title: 'T' },
        notify: {
          prompt: '{text}',
          deliver_only: true,
          deliver: 'http',
          deliver_extra: { url: 'http://127.0.0.1:1/' },
        },
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

async function newSession(text = 'hello', route = 'hook'): Promise<string> {
  const answer = await signedPost({
    baseUrl: ingress.baseUrl,
    route,
    secret: SECRET,
    body: { text },
  });
  expect(answer.status).toBe(202);
  return answer.sessionId;
}

function say(id: string, body: unknown, key?: string): Promise<ApiAnswer> {
  return apiCall(ingress, `/v1/sessions/${id}/messages`, {
    method: 'POST',
    body,
    headers: key === undefined ? {} : { 'idempotency-key': key },
  });
}

function resume(id: string, key?: string): Promise<ApiAnswer> {
  return apiCall(ingress, `/v1/sessions/${id}/resume`, {
    method: 'POST',
    headers: key === undefined ? {} : { 'idempotency-key': key },
  });
}

async function typesOf(id: string): Promise<string[]> {
  const { body } = await apiCall(ingress, `/v1/sessions/${id}/events`);
  return (body.items as { type: string }[]).map(({ type }) => type);
}

async function session(id: string): Promise<Record<string, unknown>> {
  return (await apiCall(ingress, `/v1/sessions/${id}`)).body;
}

async function transcriptOf(id: string): Promise<string[]> {
  const { body } = await apiCall(ingress, `/v1/sessions/${id}/transcript`);
  return (body.messages as { role: string; content: string }[]).map(
    ({ role, content }) => `${role}: ${content}`,
  );
}

const turns = async (id: string) => (await typesOf(id)).filter((type) => type === 'turn.requested').length;

describe('a message', () => {
  it('to an open session is another turn', async () => {
    const id = await newSession();
    await worker.startsRun(id);
    const { status, body } = await say(id, { text: 'and one more thing' });
    expect([status, body]).toEqual([202, { session_id: id }]);
    expect(await typesOf(id)).toEqual(['session.created', 'turn.requested', 'run.started', 'turn.requested']);
  });

  it('answers the open question', async () => {
    const id = await newSession();
    await worker.asks(id, 'Which one?');
    expect((await session(id)).status).toBe('waiting');
    expect((await say(id, { text: 'the blue one' })).body).toEqual({ session_id: id });
    expect((await typesOf(id)).at(-1)).toBe('clarification.answered');
    expect((await transcriptOf(id)).at(-1)).toBe('tool: {"answer":"the blue one"}');
  });

  it('with new_turn is the next turn, and the question is superseded', async () => {
    const id = await newSession();
    await worker.asks(id, 'Which one?');
    expect((await say(id, { text: 'something else', new_turn: true })).status).toBe(202);
    expect((await typesOf(id)).slice(-3)).toEqual([
      'clarification.superseded',
      'run.cancelled',
      'turn.requested',
    ]);
    const after = await session(id);
    expect(after).toMatchObject({ status: 'queued' });
    expect(after).not.toHaveProperty('clarification');
    await worker.answers(id, 'done');
    expect(await session(id)).toMatchObject({ status: 'ended', outcome: 'succeeded' });
  });

  describe('with images', () => {
    const PIXEL =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const image = { mime_type: 'image/png', data: PIXEL };
    const NOTE = '[image 1: image/png, 70 bytes]';
    const last = async (id: string) => (await ingress.log.streams.read(id)).at(-1);

    it('is a turn that has them, and whose input names them; the API shows their sizes', async () => {
      const id = await newSession();
      await worker.startsRun(id);
      expect((await say(id, { text: 'What is this?', images: [image] })).status).toBe(202);
      expect(await last(id)).toMatchObject({
        type: 'turn.requested',
        data: { input: `What is this?\n${NOTE}`, images: [image] },
      });
      const { body } = await apiCall(ingress, `/v1/sessions/${id}/events`);
      expect((body.items as { data: object }[]).at(-1)?.data).toMatchObject({
        images: [{ mime_type: 'image/png', bytes: 70 }],
      });
      expect(JSON.stringify(body)).not.toContain(PIXEL);
    });

    it('may answer a question', async () => {
      const id = await newSession();
      await worker.asks(id, 'What does it look like?');
      await say(id, { text: 'like this', images: [image] });
      expect(await last(id)).toMatchObject({ type: 'clarification.answered', data: { images: [image] } });
      expect((await transcriptOf(id)).at(-1)).toBe(`tool: {"answer":"like this\\n${NOTE}"}`);
    });

    it('may open a continuation, whose first turn has them', async () => {
      const id = await newSession();
      await worker.answers(id, '42');
      const { body } = await say(id, { text: 'And this?', images: [image] });
      expect(body.session_id).not.toBe(id);
      expect(await last(body.session_id as string)).toMatchObject({
        type: 'turn.requested',
        data: { turn: 1, input: `And this?\n${NOTE}`, images: [image] },
      });
    });

    it('has no field for them if there are none', async () => {
      const id = await newSession();
      await say(id, { text: 'no picture', images: [] });
      expect((await last(id))?.data).not.toHaveProperty('images');
    });

    it.each([
      [[{ mime_type: 'image/svg+xml', data: PIXEL }], 'images.0.mime_type'],
      [[{ mime_type: 'text/html', data: PIXEL }], 'images.0.mime_type'],
      [[{ ...image, data: 'not base64!' }], 'images.0.data'],
      [[{ ...image, data: '' }], 'images.0.data'],
      [[{ ...image, url: 'http://169.254.169.254/' }], 'images.0.url'],
      [Array(5).fill(image), 'images'],
    ])('is refused for %j', async (images, field) => {
      const id = await newSession();
      const { status, body } = await say(id, { text: 'x', images });
      expect([status, body.error]).toEqual([400, expect.stringContaining(`body field \`${field}\``)]);
      expect(await turns(id)).toBe(1);
    });
  });

  it('to an old id acts on the open continuation as on a session', async () => {
    const open = async () => {
      const old = await newSession();
      await worker.answers(old, '42');
      const next = (await say(old, { text: 'go on' })).body.session_id as string;
      await worker.asks(next, 'Which one?');
      return { old, next };
    };
    const answered = await open();
    expect((await say(answered.old, { text: 'the blue one' })).body).toEqual({ session_id: answered.next });
    expect((await typesOf(answered.next)).at(-1)).toBe('clarification.answered');
    const superseded = await open();
    await say(superseded.old, { text: 'something else', new_turn: true });
    expect((await typesOf(superseded.next)).slice(-3)).toEqual([
      'clarification.superseded',
      'run.cancelled',
      'turn.requested',
    ]);
  });

  it('to an ended session opens a continuation with the old transcript', async () => {
    const id = await newSession('what is 6 times 7');
    await worker.answers(id, '42');
    const { status, body } = await say(id, { text: 'and half of it?' });
    expect(status).toBe(202);
    const next = body.session_id as string;
    expect(next).not.toBe(id);
    expect(await session(next)).toMatchObject({ id: next, continues: id, route: 'hook', status: 'queued' });
    expect(await transcriptOf(next)).toEqual([
      'user: what is 6 times 7',
      'assistant: 42',
      'user: and half of it?',
    ]);
    expect((await typesOf(id)).at(-1)).toBe('session.ended');
  });

  it('that is repeated with its Idempotency-Key is taken once, as a turn, as an answer and as a continuation', async () => {
    const turn = await newSession();
    const asked = await newSession();
    await worker.asks(asked, 'Which one?');
    const ended = await newSession();
    await worker.answers(ended, 'done');
    for (const id of [turn, asked, ended]) {
      const before = await typesOf(id);
      const first = await say(id, { text: 'once' }, 'key-1');
      const again = await say(id, { text: 'once' }, 'key-1');
      expect([first.status, again.status, again.body]).toEqual([202, 202, first.body]);
      expect((await typesOf(id)).length).toBe(before.length + (id === ended ? 0 : 1));
      if (id === ended) expect(await turns(first.body.session_id as string)).toBe(1);
    }
    // Another key is another message, and each session has its own keys.
    await say(turn, { text: 'twice' }, 'key-2');
    expect(await turns(turn)).toBe(3);
  });

  it('that is repeated at the same time is taken once', async () => {
    const id = await newSession();
    const answers = await Promise.all(Array.from({ length: 8 }, () => say(id, { text: 'x' }, 'same')));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(202));
    expect(await turns(id)).toBe(2);
  });

  it('without a key is a new message each time', async () => {
    const id = await newSession();
    await say(id, { text: 'x' });
    await say(id, { text: 'x' });
    expect(await turns(id)).toBe(3);
  });

  it.each([
    ['no body', undefined, 'object'],
    ['a list', [], 'object'],
    ['no text', {}, 'text'],
    ['an empty text', { text: ' \n' }, 'text'],
    ['a text that is none', { text: 7 }, 'text'],
    ['a new_turn that is no boolean', { text: 'x', new_turn: 'yes' }, 'new_turn'],
    ['an unknown field', { text: 'x', txet: 'x' }, 'txet'],
    ['what is not JSON', '{"text": ', 'JSON'],
  ])('with %s is answered 400 with the reason', async (_what, body, told) => {
    const id = await newSession();
    const { status, body: answer } = await say(id, body);
    expect(status).toBe(400);
    expect(answer.error).toContain(told);
    expect(await turns(id)).toBe(1);
  });

  it('without a JSON content-type is answered 415, a too large one 413, each with what to do', async () => {
    const path = `/v1/sessions/${await newSession()}/messages`;
    const post = (body: string, type: string) =>
      apiCall(ingress, path, { method: 'POST', body, headers: { 'content-type': type } });
    expect(await post('text', 'text/csv')).toMatchObject({
      status: 415,
      body: { error: expect.stringContaining('application/json') },
    });
    expect(await post(JSON.stringify({ text: 'x'.repeat(1_100_000) }), 'application/json')).toMatchObject({
      status: 413,
      body: { error: expect.stringContaining('max_body_bytes') },
    });
  });

  it('is answered 400 for a wrong key, 404 for an unknown session, 401 without the token', async () => {
    const id = await newSession();
    expect((await say(id, { text: 'x' }, 'k'.repeat(201))).status).toBe(400);
    expect((await say(UNKNOWN_ID, { text: 'x' })).status).toBe(404);
    expect((await say('abc', { text: 'x' })).status).toBe(400);
    for (const what of ['messages', 'resume']) {
      const path = `/v1/sessions/${id}/${what}`;
      expect(
        (await apiCall(ingress, path, { method: 'POST', body: { text: 'x' }, token: null })).status,
      ).toBe(401);
    }
  });

  it('may contain what Postgres cannot store: it is replaced, not refused', async () => {
    const id = await newSession();
    expect((await say(id, { text: 'a\u0000b \ud83d c' })).status).toBe(202);
    await worker.answers(id, 'first');
    expect(await transcriptOf(id)).toContain('user: a\ufffdb \ufffd c');
  });
});

describe('resume', () => {
  it('of an ended session opens a continuation, by the whole id from the list', async () => {
    const id = await newSession();
    await worker.answers(id, 'half of it');
    const { status, body } = await resume(id);
    expect(status).toBe(202);
    const next = body.session_id as string;
    expect(await session(next)).toMatchObject({ continues: id, status: 'queued' });
    expect((await transcriptOf(next)).slice(0, 2)).toEqual(['user: hello', 'assistant: half of it']);
  });

  it('twice opens one continuation', async () => {
    const id = await newSession();
    await worker.answers(id, 'half of it');
    const first = await resume(id);
    const again = await resume(id);
    expect(again.body).toEqual(first.body);
    expect(await turns(first.body.session_id as string)).toBe(1);
    const keyed = await resume(id, 'k');
    expect(keyed.body).toEqual(first.body);
  });

  it('of a cancelled session works too', async () => {
    const id = await newSession();
    await apiCall(ingress, `/v1/sessions/${id}/cancel`, { method: 'POST' });
    const { status, body } = await resume(id);
    expect([status, (await session(body.session_id as string)).continues]).toEqual([202, id]);
  });

  it('of a session that has not ended is answered 409 with what it waits for', async () => {
    const queued = await newSession();
    const running = await newSession();
    await worker.startsRun(running);
    const waiting = await newSession();
    await worker.asks(waiting, 'Which one?');
    for (const [id, reason] of [
      [queued, 'queued'],
      [running, 'running'],
      [waiting, 'answer'],
    ] as const) {
      const { status, body } = await resume(id);
      expect([status, body.error]).toEqual([409, expect.stringContaining(reason)]);
    }
    expect((await resume(UNKNOWN_ID)).status).toBe(404);
  });

  it('and messages of a session without an agent are answered 409', async () => {
    const id = await newSession('shop 1.4.2 is live', 'notify');
    for (const answer of [await resume(id), await say(id, { text: 'x' })]) {
      expect(answer).toMatchObject({ status: 409, body: { error: expect.stringContaining('deliver_only') } });
    }
  });
});
