import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { withoutFences } from '@angelia/session';
import { eventually, signatureHeaders } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startIngress, type TestIngress } from '../../testing/ingress.ts';
import { rawRequest } from '../../testing/raw-request.ts';

const SECRET = 'webhook-secret-kept-in-the-config';
const MAX_BODY = 20_000;

const base = mkdtempSync(join(tmpdir(), 'angelia-scripts-'));
const scripts = join(base, 'scripts');
const seen = join(base, 'seen');
const NODE = process.execPath;

/** Node programs, because Node is the only interpreter that is certainly installed. */
const programs: Readonly<Record<string, string>> = {
  replace: `const payload = JSON.parse(require('fs').readFileSync(0, 'utf8'));
    process.stdout.write(JSON.stringify({ text: payload.text.toUpperCase(), id: payload.id, was: payload }));`,
  'exact-id': `process.stdout.write(require('fs').readFileSync(0));`,
  text: `console.log('  three open incidents\\n');`,
  empty: ``,
  silent: `console.log('[SILENT]');`,
  'hermes-ignore': `console.log('{"__hermes_ignore__": true, "text": "x"}');`,
  'exit-code': `console.log('{"text":"no"}'); console.error('the disk is full'); process.exit(3);`,
  list: `console.log('[1]');`,
  slow: `setTimeout(() => {}, 60_000);`,
  loud: `process.stdout.write('x'.repeat(${MAX_BODY + 1}));`,
  deaf: `process.stdin.destroy(); console.log('{"text":"did not listen"}');`,
  environment: `console.log(JSON.stringify({ text: JSON.stringify(process.env) + process.cwd() + process.argv.length }));`,
  leaves: `const child = require('child_process').spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)'], { stdio: 'inherit' });
    console.log(JSON.stringify({ text: String(child.pid) })); process.exit(0);`,
  once: `const fs = require('fs');
    if (fs.existsSync(${JSON.stringify(seen)})) console.log('{"text":"mended"}');
    else { fs.writeFileSync(${JSON.stringify(seen)}, ''); process.exit(1); }`,
};

let database: TestDatabase;
let ingress: TestIngress;

function start(scriptTimeoutSeconds: number): Promise<TestIngress> {
  return startIngress({
    databaseUrl: database.url,
    config: {
      secret: SECRET,
      limits: {
        max_body_bytes: MAX_BODY,
        script_timeout_seconds: scriptTimeoutSeconds,
        rate_limit: 0,
      },
      directories: { scripts },
      agents: { default: {} },
      routes: {
        ...Object.fromEntries(
          Object.keys(programs).map((script) => [
            script,
            { script, prompt: 'Do {text} {script_output}', title: '{id}', events: [] },
          ]),
        ),
        again: { script: 'once', retry_on_script_failure: true, prompt: '{text}' },
        veto: { script: 'silent', retry_on_script_failure: true },
        filtered: {
          script: 'replace',
          prompt: '{text}',
          filters: [
            { field: 'action', in: ['opened', 'reopened'] },
            {
              any: [
                { field: 'user.login', in_file: join(base, 'watch.txt') },
                { field: 'headers.X-Force', exists: true },
              ],
            },
          ],
        },
        straight: {
          deliver_only: true,
          prompt: 'Deploy of {app}: {notes}',
          deliver: 'http',
          deliver_extra: { url: 'https://example.com/in' },
        },
      },
    },
  });
}

beforeAll(async () => {
  mkdirSync(scripts);
  process.env.A_SECRET_OF_OURS = 'must-not-be-passed-on';
  for (const [name, source] of Object.entries(programs)) {
    writeFileSync(join(scripts, name), `#!${NODE}\n${source}\n`, { mode: 0o755 });
  }
  writeFileSync(join(base, 'watch.txt'), 'ada\nbob\n');
  database = await createTestDatabase();
  // Longer than a busy machine needs to start a program.
  ingress = await start(60);
});

afterAll(async () => {
  delete process.env.A_SECRET_OF_OURS;
  await ingress?.close();
  await database?.drop();
  rmSync(base, { recursive: true, force: true });
});

async function post(
  route: string,
  body: unknown,
  headers: Record<string, string> = {},
  deliveryId?: string,
  to = ingress,
) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await rawRequest({
    url: `${to.baseUrl}/webhooks/${route}`,
    headers: {
      'content-type': 'application/json',
      ...signatureHeaders({ secret: SECRET, ...(deliveryId === undefined ? {} : { deliveryId }) }, text),
      ...headers,
    },
    body: text,
  });
  return { ...answer, body: JSON.parse(answer.text) as Record<string, unknown> };
}

async function eventsOf(sessionId: unknown) {
  return database.query<{ type: string; data: Record<string, unknown> }>(
    'SELECT type, data FROM angelia.events WHERE stream_id = $1 ORDER BY version',
    [sessionId],
  );
}
const inputOf = async (sessionId: unknown) =>
  withoutFences(String((await eventsOf(sessionId))[1]?.data.input));
/** Why nothing happened, as an operator sees it (GET /v1/webhooks reads this table). */
const recordedOf = (route: string) =>
  eventually(async () => {
    const rows = await database.query<{ reason: string }>(
      'SELECT reason FROM angelia.unstarted_webhook_counts WHERE route = $1',
      [route],
    );
    return rows.length > 0 && rows.map(({ reason }) => reason);
  });
const ignored = (route: string) => ({ status: 'ignored', reason: 'script', route });

describe('a script', () => {
  it('replaces the payload with the JSON object that it prints; the identity of the webhook stays', async () => {
    const answer = await post('replace', { text: 'hello', id: 5 }, {}, 'delivery-1');
    expect(answer).toMatchObject({ status: 202, body: { delivery_id: 'delivery-1' } });
    const [created] = await eventsOf(answer.body.session_id);
    expect(created?.data.title).toBe('5');
    expect(await inputOf(answer.body.session_id)).toBe('Do HELLO {script_output}');
    expect((await post('replace', { text: 'hello', id: 5 }, {}, 'delivery-1')).body).toEqual({
      status: 'duplicate',
      delivery_id: 'delivery-1',
      session_id: answer.body.session_id,
    });
  });

  it('reads and prints ids that a number cannot hold', async () => {
    const answer = await post('exact-id', '{"id":12345678901234567890,"text":"t"}');
    expect((await eventsOf(answer.body.session_id))[0]?.data.title).toBe('12345678901234567890');
  });

  it('adds other text to the payload as script_output', async () => {
    const answer = await post('text', { text: 'about' });
    expect(await inputOf(answer.body.session_id)).toBe('Do about three open incidents');
    const list = await post('text', [1, 2]);
    expect(await inputOf(list.body.session_id)).toBe('Do {text} three open incidents');
  });

  it.each(['empty', 'silent', 'hermes-ignore'])('can ignore the webhook: %s', async (route) => {
    const answer = await post(route, { text: 'x' });
    expect(answer).toMatchObject({ status: 200, body: ignored(route) });
    expect(await recordedOf(route)).toEqual(['script']);
  });

  it.each([
    ['exit-code', 'it exited with code 3: the disk is full'],
    ['list', 'it printed JSON that is not an object'],
    ['loud', `it printed more than ${MAX_BODY} bytes`],
  ])('that fails causes the webhook to be ignored, and the log says why: %s', async (route, reason) => {
    const answer = await post(route, { text: 'x' });
    expect(answer).toMatchObject({ status: 200, body: ignored(route) });
    expect(ingress.logged()).toContain(reason);
    expect(answer.text).not.toContain(reason);
    expect(await recordedOf(route)).toEqual(['script_failed']);
  });

  it('that takes too long counts as failed', async () => {
    const hurried = await start(0.5);
    try {
      const answer = await post('slow', { text: 'x' }, {}, undefined, hurried);
      expect(answer).toMatchObject({ status: 200, body: ignored('slow') });
      expect(hurried.logged()).toContain('it took longer than 500 ms');
      expect(await recordedOf('slow')).toEqual(['script_failed']);
    } finally {
      await hurried.close();
    }
  });

  it('that fails makes the sender retry with retry_on_script_failure; after a repair the webhook is taken', async () => {
    const failed = await post('again', { text: 'x' }, {}, 'kept');
    expect(failed.status).toBe(503);
    expect(failed.headers['retry-after']).toMatch(/^\d+$/);
    expect(failed.body).toEqual({ error: expect.any(String) });
    const taken = await post('again', { text: 'x' }, {}, 'kept');
    expect(taken).toMatchObject({ status: 202, body: { delivery_id: 'kept' } });
    expect(await inputOf(taken.body.session_id)).toBe('mended');
    expect((await post('veto', { text: 'x' })).status).toBe(200);
  });

  it('that no longer exists counts as failed', async () => {
    const path = join(scripts, 'deaf');
    const source = readFileSync(path);
    expect((await post('deaf', { text: 'y'.repeat(15_000) })).status).toBe(202);
    rmSync(path);
    expect((await post('deaf', { text: 'x' })).body).toEqual(ignored('deaf'));
    expect(ingress.logged()).toContain('there is no file deaf');
    writeFileSync(path, source, { mode: 0o755 });
  });

  it('sees nothing of our environment, runs in its own directory and is told about the webhook', async () => {
    const sent = await rawRequest({
      url: `${ingress.baseUrl}/webhooks/environment`,
      // No event header: the type comes from the body, which may contain what a variable cannot hold.
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${SECRET}`,
        'x-github-delivery': 'env-1',
      },
      body: '{"text":"x","type":"a\\u0000b"}',
    });
    expect(sent.status).toBe(202);
    const answer = { body: JSON.parse(sent.text) as Record<string, unknown> };
    const input = String(await inputOf(answer.body.session_id));
    expect(input).not.toContain('must-not-be-passed-on');
    expect(input).not.toContain('DATABASE_URL');
    expect(input).toContain('"ANGELIA_ROUTE":"environment"');
    expect(input).toContain('"ANGELIA_DELIVERY_ID":"env-1"');
    expect(input).toContain('"ANGELIA_EVENT_TYPE":"a\ufffdb"');
    expect(input).toContain(`${scripts}2`);
  });

  it('that leaves a process running does not hold the webhook, and the process is killed', async () => {
    const answer = await post('leaves', { text: 'x' });
    expect(answer.status).toBe(202);
    const pid = Number(String(await inputOf(answer.body.session_id)).split(' ')[1]);
    expect(pid).toBeGreaterThan(1);
    await eventually(
      () => !existsSync(`/proc/${pid}`) || /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')),
    );
  });

  it('does not run for a body that is nested too deeply to be printed', async () => {
    const answer = await post('replace', `{"text":${'['.repeat(9_000)}${']'.repeat(9_000)}}`);
    expect(answer).toMatchObject({ status: 400, body: { error: expect.stringContaining('too deeply') } });
  });

  it('runs for many webhooks at once, all of which are answered', async () => {
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, n) => post('replace', { text: `t${n}`, id: n }, {}, `burst-${n}`)),
    );
    for (const { status } of answers) expect([202, 503]).toContain(status);
    expect(answers.filter(({ status }) => status === 202).length).toBeGreaterThan(4);
  });
});

describe('a filter', () => {
  it('decides before the script; what it does not let pass is ignored', async () => {
    const wanted = { action: 'opened', user: { login: 'ada' }, text: 'hi' };
    const reason = { status: 'ignored', reason: 'filter', route: 'filtered' };
    expect((await post('filtered', wanted)).status).toBe(202);
    expect((await post('filtered', { ...wanted, action: 'closed' })).body).toEqual(reason);
    expect((await post('filtered', { ...wanted, user: { login: 'eve' } })).body).toEqual(reason);
    expect((await post('filtered', { ...wanted, user: { login: 'eve' } }, { 'x-force': '1' })).status).toBe(
      202,
    );
    expect((await post('filtered', '[]')).body).toEqual(reason);
  });
});

describe('a deliver_only route', () => {
  it('has its rendered answer in the log with the 202, and no agent', async () => {
    const notes = 'first line\nsecond line';
    const answer = await post('straight', { app: 'shop', notes }, {}, 'd-1');
    expect(answer).toMatchObject({ status: 202, body: { status: 'accepted', delivery_id: 'd-1' } });
    const events = await eventsOf(answer.body.session_id);
    expect(events.map(({ type }) => type)).toEqual([
      'session.created',
      'turn.requested',
      'session.final-response',
      'session.ended',
    ]);
    expect(events[0]?.data).toMatchObject({ deliver_only: true, deliver: { target: 'http' } });
    expect(events[2]?.data.text).toBe('Deploy of shop: first line\nsecond line');
    expect((await post('straight', { app: 'shop', notes }, {}, 'd-1')).body.status).toBe('duplicate');
  });
});

describe('a route whose files are missing', () => {
  it.each([
    [{ script: 'nope' }, 'routes.r.script: there is no file nope'],
    [{ script: '../watch.txt' }, 'routes.r.script: ../watch.txt is outside'],
    [{ skills: ['nope'] }, 'routes.r.skills.0: skill nope: '],
    [
      { filters: [{ field: 'a', in_file: '/nope.txt' }] },
      'routes.r.filters.0.in_file: there is no file /nope.txt',
    ],
  ])('keeps ingress from starting: %j', async (route, line) => {
    const config = { secret: SECRET, directories: { scripts, skills: base }, routes: { r: route } };
    await expect(startIngress({ databaseUrl: database.url, config })).rejects.toThrow(line);
  });
});
