import { randomBytes } from 'node:crypto';
import { parseConfig, sessionId } from '@angelia/contracts';
import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { type AnswerLinks, answerLinks, signedLinks } from '@angelia/service-kit';
import { signedPost } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { apiCall, expectPromised } from '../testing/api-call.ts';
import { startIngress, type TestIngress } from '../testing/ingress.ts';
import { openWorker, type Worker } from '../testing/worker.ts';

const SECRET = 'webhook-secret';
const MASTER_KEY = randomBytes(32).toString('base64');
const config = {
  secret: SECRET,
  agents: { default: { toolsets: ['clarify'] } },
  routes: { hook: { prompt: '{text}', title: 'About {text}' } },
};

let database: TestDatabase;
let ingress: TestIngress;
let worker: Worker;
let links: AnswerLinks;

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
  const made = answerLinks(parsed.config, {
    service: 'delivery',
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

interface Asked {
  readonly id: string;
  readonly url: string;
}

async function ask(
  over: { question?: string; choices?: string[]; text?: string; onTimeout?: 'continue' } = {},
) {
  const posted = await signedPost({
    baseUrl: ingress.baseUrl,
    route: 'hook',
    secret: SECRET,
    body: { text: over.text ?? 'hello' },
  });
  const id = posted.sessionId;
  await worker.asksFor(id, 'clarify', 'call-1');
  const { version } = await worker.does(id, (state) => ({
    type: 'request-clarification',
    generation: state.generation,
    clarificationId: 'question-1',
    callId: 'call-1',
    question: over.question ?? 'Which one?',
    choices: over.choices ?? [],
    deadline: Date.parse('2030-01-02T03:04:05Z'),
    onTimeout: over.onTimeout ?? 'end',
  }));
  return { id, url: links.url({ sessionId: sessionId(id), output: version }) } satisfies Asked;
}

async function get(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

async function submit(url: string, fields: Record<string, string>) {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(fields) });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

async function postJson(url: string, body: unknown) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as Record<string, unknown>;
  expectPromised('POST', new URL(url).pathname, response.status, answer);
  return { status: response.status, body: answer };
}

async function events(id: string) {
  const { body } = await apiCall(ingress, `/v1/sessions/${id}/events`);
  return body.items as { type: string; data: Record<string, unknown> }[];
}
const lastType = async (id: string) => (await events(id)).at(-1)?.type;

describe('the link of a question', () => {
  it('opens a page with the question, its choices, who asks and for which session, without a token', async () => {
    const { id, url } = await ask({ question: '**Red** or\nblue?', choices: ['Red', 'Blue'] });
    const { status, headers, text } = await get(url, { accept: 'text/html,*/*' });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(text).toContain('About hello');
    expect(text).toContain('<strong>Red</strong> or<br>blue?');
    expect(text).toContain(`session ${id}`);
    expect(text).toContain(
      'Agent <strong><bdi>default</bdi></strong> (route <strong><bdi>hook</bdi></strong>)',
    );
    expect(text.match(/<input type="radio" name="answer" value="(Red|Blue)">/g)).toHaveLength(2);
    expect(text).toContain('2030-01-02 03:04 UTC');
    expect(text).toContain('<textarea id="other" name="other"');
    // Chat programs open links before people do.
    await get(url);
    expect(await lastType(id)).toBe('clarification.requested');
  });

  it('takes the answer of the form once, and the session continues with it', async () => {
    const { id, url } = await ask({ choices: ['Red', 'Blue'] });
    const taken = await submit(url, { answer: 'Blue' });
    expect(taken.status).toBe(202);
    expect(taken.text).toContain('Your answer was received.');
    expect((await events(id)).at(-1)).toMatchObject({
      type: 'clarification.answered',
      data: { answer: 'Blue', by: 'link' },
    });
    const session = await apiCall(ingress, `/v1/sessions/${id}`);
    expect(session.body).toMatchObject({ status: 'queued' });
    const { body } = await apiCall(ingress, `/v1/sessions/${id}/transcript`);
    expect((body.messages as { content: string }[]).at(-1)?.content).toBe('{"answer":"Blue"}');

    const before = (await events(id)).length;
    for (const again of [await get(url), await submit(url, { answer: 'Red' })]) {
      expect(again.status).toBe(410);
      expect(again.text).toContain('answered already');
    }
    expect((await events(id)).length).toBe(before);
  });

  it('takes free text beside its choices, and nothing at all is no answer', async () => {
    const { id, url } = await ask({ choices: ['Red', 'Blue'] });
    const empty = await submit(url, { other: ' ' });
    expect(empty.status).toBe(400);
    expect(empty.text).toContain('Please give an answer.');
    expect((await submit(url, { answer: 'Red', other: 'Green, please' })).status).toBe(202);
    expect((await events(id)).at(-1)?.data).toMatchObject({ answer: 'Green, please', by: 'link' });
    const chosen = await ask({ choices: ['Red', 'Blue'] });
    expect((await submit(chosen.url, { answer: 'Red', other: '' })).status).toBe(202);
    expect((await events(chosen.id)).at(-1)?.data).toMatchObject({ answer: 'Red' });
  });

  it('takes free text if there are no choices, and JSON from programs', async () => {
    const first = await ask();
    expect((await get(first.url)).text).toContain('<textarea id="answer" name="answer"');
    expect((await submit(first.url, { answer: 'as you like é\u0000' })).status).toBe(202);
    expect((await events(first.id)).at(-1)?.data).toMatchObject({ answer: 'as you like é\ufffd' });

    const second = await ask({ choices: ['a'] });
    const read = await get(second.url, { accept: 'application/json' });
    expect(JSON.parse(read.text)).toEqual({
      question: 'Which one?',
      choices: ['a'],
      deadline: '2030-01-02T03:04:05.000Z',
      session_id: second.id,
      title: 'About hello',
      route: 'hook',
      agent: 'default',
    });
    const posted = await postJson(second.url, { answer: 'none of them' });
    expect(posted).toEqual({ status: 202, body: { session_id: second.id } });
    const third = await ask();
    expect((await postJson(third.url, { text: 'as in a message' })).status).toBe(202);
    expect((await postJson(third.url, { text: 'again' })).status).toBe(410);
  });

  it('asks again if the form has no answer, and stays usable', async () => {
    const { id, url } = await ask();
    const empty = await submit(url, { answer: '  \n' });
    expect(empty.status).toBe(400);
    expect(empty.text).toContain('role="alert"');
    expect(empty.text).toContain('<textarea');
    expect((await submit(url, { unknown: 'x' })).status).toBe(400);
    expect(await postJson(url, { answer: 7 })).toMatchObject({ status: 400 });
    expect(await lastType(id)).toBe('clarification.requested');
    expect((await submit(url, { answer: 'x' })).status).toBe(202);
  });

  it('takes one of many answers at the same time', async () => {
    const { id, url } = await ask();
    const all = await Promise.all(Array.from({ length: 8 }, (_, i) => submit(url, { answer: `a${i}` })));
    expect(all.map(({ status }) => status).sort()).toEqual([202, ...Array(7).fill(410)]);
    expect((await events(id)).filter(({ type }) => type === 'clarification.answered')).toHaveLength(1);
  });

  it('says that the time is over or that the session ended', async () => {
    const late = await ask({ onTimeout: 'continue' });
    await worker.does(late.id, () => ({ type: 'time-out-clarification', clarificationId: 'question-1' }));
    const cancelled = await ask();
    await worker.does(cancelled.id, () => ({ type: 'cancel', by: 'api' }));
    const byApi = await ask();
    await apiCall(ingress, `/v1/sessions/${byApi.id}/messages`, { method: 'POST', body: { text: 'blue' } });
    const superseded = await ask();
    await apiCall(ingress, `/v1/sessions/${superseded.id}/messages`, {
      method: 'POST',
      body: { text: 'something else', new_turn: true },
    });
    for (const [{ url }, told] of [
      [superseded, 'another message was sent to the session instead of an answer'],
      [late, 'time to answer this question is over'],
      [cancelled, 'session that asked it has ended'],
      [byApi, 'answered already'],
    ] as const) {
      for (const answer of [await get(url), await submit(url, { answer: 'x' })]) {
        expect(answer.status).toBe(410);
        expect(answer.text).toContain(told);
      }
      expect((await postJson(url, { answer: 'x' })).body.error).toContain(told);
    }
  });

  it('does not answer a later question of the session', async () => {
    const { id, url } = await ask();
    await submit(url, { answer: 'x' });
    await worker.asksFor(id, 'clarify', 'call-2');
    await worker.does(id, (state) => ({
      type: 'request-clarification',
      generation: state.generation,
      clarificationId: 'question-2',
      callId: 'call-2',
      question: 'And then?',
      deadline: Date.now() + 60_000,
      onTimeout: 'end',
    }));
    expect((await get(url)).status).toBe(410);
    expect((await submit(url, { answer: 'x' })).status).toBe(410);
    expect(await lastType(id)).toBe('clarification.requested');
  });

  it('is answered 404 if it is forged, whatever it names', async () => {
    const { id, url } = await ask();
    const token = url.split('/').at(-1) ?? '';
    const changed = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`;
    const callback = signedLinks(MASTER_KEY, 'callback').token(id, '5');
    const signed = signedLinks(MASTER_KEY, 'answer');
    const noQuestion = signed.token(id, '1');
    const noEvent = signed.token(id, '99');
    const noSession = signed.token('0192aaaa-0000-7000-8000-000000000001', '5');
    for (const forged of [changed, callback, noQuestion, noEvent, noSession, 'x', `${id}.5.`]) {
      const forgedUrl = new URL(`/answers/${forged}`, ingress.baseUrl).href;
      for (const answer of [await get(forgedUrl), await submit(forgedUrl, { answer: 'x' })]) {
        expect(answer.status).toBe(404);
        expect(answer.text).toContain('no question behind this link');
      }
      expect((await postJson(forgedUrl, { answer: 'x' })).status).toBe(404);
    }
    expect(await lastType(id)).toBe('clarification.requested');
  });

  it('shows the words of a model or a sender as text, and runs nothing', async () => {
    const { url } = await ask({
      text: '</title><script>alert(1)</script>',
      question: '<img src=x onerror=alert(1)> & "quoted"',
      choices: ['"><script>alert(2)</script>', "it's"],
    });
    const { text, headers } = await get(url);
    expect(text).not.toMatch(/<script|<img/);
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt; &amp; &quot;quoted&quot;');
    expect(text).toContain('value="&quot;&gt;&lt;script&gt;alert(2)&lt;/script&gt;"');
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it('is in no event and in no log line', async () => {
    const { id, url } = await ask();
    await get(url);
    await submit(url, { answer: 'x' });
    const token = url.split('/').at(-1) ?? '';
    expect(JSON.stringify(await events(id))).not.toContain(token);
    expect(ingress.logged()).not.toContain(token);
  });
});
