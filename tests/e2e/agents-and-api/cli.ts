import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commands } from '@angelia/cli';
import {
  answer,
  callTool,
  eventually,
  fail,
  type ModelServer,
  type Sink,
  say,
  startModelServer,
  startSink,
  TEST_SECRET,
  TEST_SINK_SECRET,
  testRoute,
} from '@angelia/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { commandLine } from '../command-line.ts';
import { addToStack, modelAt, receiver, stack } from '../shared-stack.ts';

// The command line on a whole stack. Most calls run in this process; those about signals and pipes run the program.

const UNKNOWN = '01a1e281-20d9-7563-b8f1-427765d52c50';
/** `npx angelia`: runs the built program. */
const PROGRAM = fileURLToPath(new URL('../../../deploy/local/angelia.mjs', import.meta.url));

let sink: Sink;
let model: ModelServer;
let files: string;

const env = () => ({
  ANGELIA_URL: stack.baseUrl,
  ANGELIA_ADMIN_TOKEN: stack.adminToken,
  ANGELIA_CONFIG: join(stack.dataDir, 'angelia.yaml'),
  DATABASE_URL: stack.postgresUrl,
});

const { angelia, json, lines, refused, goingOn } = commandLine(() => ({ cwd: files, env: env() }));

async function send(...argv: string[]): Promise<string> {
  const { session_id: id } = await json<{ session_id: string }>('send', 'cli', ...argv);
  return id;
}

/** Sends a webhook and waits for its end: a session that still ran would take what the next test queues at model and sink. */
async function accepted(...argv: string[]): Promise<Record<string, unknown>> {
  const sent = await json('send', ...argv);
  expect(sent).toMatchObject({ status: 'accepted', session_id: expect.any(String) });
  await stack.waitForEnd(String(sent.session_id), { settled: true });
  return sent;
}

/** A webhook that was sent, answered and delivered. */
async function settled(text: string): Promise<string> {
  const id = await send('--data', JSON.stringify({ text }));
  await stack.waitForEnd(id, { settled: true });
  return id;
}

export function cli(): void {
  addToStack(async () => {
    files = mkdtempSync(join(tmpdir(), 'angelia-cli-'));
    [sink, model] = await Promise.all([startSink({ secret: TEST_SINK_SECRET }), startModelServer()]);
    const route = (over: object) => testRoute(sink.url, { agent: 'cli', ...over });
    return {
      // A model of its own, so that the other tests do not wait when it is down.
      models: { cli: modelAt(model), 'cli-busy': modelAt(model) },
      agents: {
        cli: { kind: 'llm', model: 'cli', toolsets: ['clarify', 'terminal'] },
        'cli-busy': { kind: 'llm', model: 'cli-busy' },
      },
      routes: {
        cli: route({}),
        picky: route({ events: ['deploy'] }),
        stamped: route({ auth: 'standard-webhooks' }),
        described: route({
          auth: {
            scheme: 'hmac',
            header: 'X-Acme-Signature',
            algorithm: 'sha512',
            encoding: 'base64',
            prefix: 'v1=',
            signed: '{id}:{timestamp}.{body}',
            timestamp_header: 'X-Acme-Time',
            id_header: 'X-Acme-Id',
            event_header: 'X-Acme-Event',
          },
        }),
        interactions: route({ auth: 'discord', secret: 'ab'.repeat(32) }),
        keyed: route({ auth: { scheme: 'token', header: 'X-Acme-Key' } }),
        scarce: route({ rate_limit: 1 }),
        busy: route({ agent: 'cli-busy' }),
      },
    };
  });

  afterAll(async () => {
    await Promise.all([sink?.stop(), model?.stop()]);
    rmSync(files, { recursive: true, force: true });
  });

  describe('the API and the command line', () => {
    it('every call of /v1 has a command, and no command names a call that does not exist', async () => {
      const document = (await (await fetch(`${stack.baseUrl}/openapi.json`)).json()) as {
        paths: Record<string, Record<string, unknown>>;
      };
      const served = Object.entries(document.paths).flatMap(([path, methods]) =>
        path.startsWith('/v1/') ? Object.keys(methods).map((method) => `${method} ${path}`) : [],
      );
      expect(served.length).toBeGreaterThan(20);
      const called = new Set(commands.flatMap(({ calls = [] }) => calls));
      expect([...called].sort()).toEqual(served.sort());
    });

    it('a wrong token gives exit code 4, another kind of server gives a different error', async () => {
      const wrong = await angelia(['sessions'], { env: { ANGELIA_ADMIN_TOKEN: 'wrong' } });
      expect([wrong.code, wrong.stderr]).toEqual([4, expect.stringContaining('the admin token is wrong')]);
      expect(wrong.stderr).not.toContain('angelia: wrong');
      const other = await angelia(['sessions'], { env: { ANGELIA_URL: sink.url } });
      expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('is it another server?')]);
    });

    it('the token can come from a file', async () => {
      writeFileSync(join(files, 'token'), `${stack.adminToken}\n`);
      const { code } = await angelia(['sessions', '--token-file', 'token'], {
        env: { ANGELIA_ADMIN_TOKEN: '' },
      });
      expect(code).toBe(0);
    });
  });

  describe('console', () => {
    it('prints a link that signs a browser in; no log and no span holds its code, the cookie or the CSRF token', async () => {
      const shown = await angelia(['console']);
      expect([shown.code, shown.stdout]).toEqual([
        0,
        expect.stringMatching(/^http\S+\/console\/sign-in#\S+\n$/),
      ]);
      const { url } = await json<{ url: string }>('console');
      const code = new URL(url).hash.slice(1);
      const post = (path: string, headers: Record<string, string>, body?: string) =>
        fetch(`${stack.baseUrl}${path}`, {
          method: 'POST',
          headers,
          ...(body === undefined ? {} : { body }),
        });
      const type = { 'content-type': 'application/json' };
      const signedIn = await post('/console/session', type, JSON.stringify({ code }));
      expect(signedIn.status).toBe(200);
      const cookie = String(signedIn.headers.get('set-cookie')).split(';', 1)[0] ?? '';
      const { csrf_token: token } = (await signedIn.json()) as { csrf_token: string };
      const sent = { cookie, 'x-angelia-csrf': token };
      expect((await post('/v1/console/links', sent)).status).toBe(201);
      expect((await post('/v1/console/links', { cookie })).status).toBe(403);
      expect((await post('/console/session', type, JSON.stringify({ code }))).status).toBe(401);
      // Of the three links that were made and the one that was refused: what came before is exported, too.
      await eventually(
        () => receiver.spans.filter(({ name }) => name === 'POST /v1/console/links').length === 4,
      );
      const logs = readdirSync(join(stack.dataDir, 'logs'))
        .map((name) => readFileSync(join(stack.dataDir, 'logs', name), 'utf8'))
        .join('');
      const spans = JSON.stringify(receiver.spans);
      for (const secret of [code, cookie.replace('angelia_session=', ''), token]) {
        expect(spans).not.toContain(secret);
        expect(logs).not.toContain(secret);
      }
    });
  });

  describe('send', () => {
    it.each([
      'github',
      'hmac',
      'hmac-body',
      'standard-webhooks',
      'svix',
      'gitlab',
      'stripe',
      'slack',
      'linear',
      'shopify',
      'bearer',
      'basic',
      'sentry',
      'pagerduty',
      'grafana',
      'bitbucket',
      'zendesk',
      'typeform',
      'telegram',
    ])('signs with %s, and ingress accepts it', async (scheme) => {
      const body = JSON.stringify({ text: `by ${scheme}` });
      expect(await accepted('cli', '--scheme', scheme, '--data', body)).toMatchObject({ route: 'cli' });
    });

    it('signs as the route describes it, and says why it cannot sign for Discord', async () => {
      expect(await accepted('described', '--delivery-id', 'acme-1', '--event', 'deploy')).toMatchObject({
        delivery_id: 'acme-1',
        event: 'deploy',
      });
      await accepted('keyed');
      expect(await refused(2, 'send', 'interactions')).toContain('only Discord has');
    });

    it("uses the route's own scheme and its first event", async () => {
      await accepted('stamped');
      expect(await accepted('picky')).toMatchObject({ event: 'deploy' });
      expect(await json('send', 'picky', '--event', 'push')).toMatchObject({
        status: 'ignored',
        reason: 'event',
      });
      const waited = await angelia(['send', 'picky', '--event', 'push', '--wait']);
      expect([waited.code, waited.stderr]).toEqual([1, expect.stringContaining('started no session')]);
    });

    it('reads its body from stdin or a file, and sets the delivery id', async () => {
      const piped = await angelia(['send', 'cli', '--delivery-id', 'cli-1', '--json'], {
        input: '{"text":"piped"}',
      });
      const { session_id: id } = JSON.parse(piped.stdout);
      expect(await stack.session(id)).toMatchObject({ title: 'piped', delivery_id: 'cli-1' });
      writeFileSync(join(files, 'body.json'), '{"text":"again"}');
      expect(await json('send', 'cli', '--file', 'body.json', '--delivery-id', 'cli-1')).toEqual({
        status: 'duplicate',
        delivery_id: 'cli-1',
        session_id: id,
      });
      await stack.waitForEnd(id, { settled: true });
    });

    it('--wait follows the session until it is settled, and the exit code says how it went', async () => {
      const followed = await lines('send', 'cli', '--data', '{"text":"follow me"}', '--wait');
      expect(followed.map(({ type }) => type)).toEqual(
        expect.arrayContaining([
          'session.created',
          'session.final-response',
          'session.ended',
          'delivery.succeeded',
        ]),
      );
      expect(followed[0]).toMatchObject({ status: 'accepted' });
      expect(followed.at(-1)).toMatchObject({ status: 'ended', outcome: 'succeeded' });

      sink.next(answer(400));
      const failed = await angelia(['send', 'cli', '--data', '{"text":"nobody gets this"}', '--wait']);
      expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('1 deliveries are dead')]);

      model.next(say('late', 20_000));
      const late = await angelia(['send', 'cli', '--data', '{"text":"slow"}', '--wait', '--timeout', '1s']);
      expect([late.code, late.stderr]).toEqual([8, expect.stringContaining('is not settled within 1s')]);
      const id = /session ([0-9a-f-]{36})/.exec(late.stdout)?.[1] ?? '';
      expect(await json('cancel', id)).toEqual({ session_id: id });
    });

    it('says what is wrong', async () => {
      expect(await refused(4, 'send', 'cli', '--secret', 'wrong')).toContain('signature or token');
      expect(await refused(3, 'send', 'nowhere', '--secret', 'x')).toContain('no such route');
      expect(await refused(2, 'send', 'nowhere')).toContain('give its secret');
      expect(await refused(2, 'send', 'cli', '--data', '{bad')).toContain('not valid JSON');
      expect(await refused(2, 'send', 'cli', '--data', '{}', '--file', 'x')).toContain('not both');
      expect(await refused(2, 'send', 'cli', '--file', 'absent.json')).toContain(
        'absent.json does not exist',
      );
      expect(await refused(2, 'send', 'cli', '--header', 'x')).toContain('name=value');
      expect(await refused(2, 'send', 'cli', '--event', 'a\nb')).toContain('HTTP does not allow');
      expect(await refused(2, 'send', 'cli', '--scheme', 'stripe', '--event', 'x')).toContain('in the body');
      const config = await angelia(['send', 'cli'], { env: { ANGELIA_CONFIG: '/nowhere.yaml' } });
      expect([config.code, config.stderr]).toEqual([78, expect.stringContaining('there is no such file')]);
    });
  });

  describe('sessions', () => {
    it('are listed with full ids, filtered and paged', async () => {
      const first = await settled('one of two');
      const second = await settled('two of two');
      const listed = () => json<{ items: { id: string }[]; next_cursor: string }>('sessions', '--limit', '1');
      const page = await eventually(async () => {
        const seen = await listed();
        return seen.items[0]?.id === second && seen;
      });
      const next = await json<{ items: { id: string }[] }>(
        'sessions',
        '--limit',
        '1',
        '--cursor',
        page.next_cursor,
      );
      expect(next.items.map(({ id }) => id)).toEqual([first]);
      const all = await json<{ items: { id: string }[]; next_cursor: null }>(
        'sessions',
        '--all',
        '--limit',
        '2',
      );
      expect(all.items.length).toBeGreaterThan(2);
      expect(all.next_cursor).toBeNull();
      // The views lag a moment: the list may not show the end yet.
      await eventually(async () => {
        const { stdout } = await angelia(['sessions', '--status', 'ended'], { columns: 60 });
        return stdout.includes(`${second}  `);
      });
      expect(await refused(2, 'sessions', '--cursor', 'nonsense')).toContain('cursor');
    });

    it('--watch prints a line per change, and Ctrl-C gives 130 without a message', async () => {
      const watching = goingOn('sessions', '--watch', '--json', '--limit', '5');
      const id = await settled('watched');
      await eventually(() => watching.seen().stdout.includes(id));
      const { code, stdout, stderr } = await watching.interrupted();
      expect([code, stderr]).toEqual([130, '']);
      const [line = ''] = stdout.split('\n').filter((each) => each.includes(id));
      expect(JSON.parse(line)).toMatchObject({ id, title: 'watched' });
    });

    it('status shows one session with its timeline', async () => {
      model.next(callTool('terminal', { command: 'echo hi' }), say('the answer'));
      const id = await settled('a hostile \u001b[31mtitle\u0007');
      const { stdout } = await angelia(['status', id], { columns: 100, env: { NO_COLOR: '1' } });
      expect(stdout).toContain(id);
      expect(stdout).toMatch(/^title +a hostile title/m);
      expect(stdout).not.toContain('\u0007');
      for (const row of [
        'turn 1 queued',
        'run 1',
        '  model cli',
        '  tool terminal',
        'final response',
        'deliver ',
      ]) {
        expect(stdout).toContain(`\n${row}`);
      }
      const shown = await json<{ id: string; timeline: { kind: string; duration_ms: number }[] }>(
        'status',
        id,
      );
      expect(shown.id).toBe(id);
      expect(shown.timeline.map(({ kind }) => kind)).toEqual(
        expect.arrayContaining(['queued', 'run', 'model', 'tool', 'output', 'delivery']),
      );
      expect(shown).toMatchObject(await stack.session(id));
      expect(await refused(3, 'status', UNKNOWN)).toContain('there is no session');
      // The list is a moment behind the log.
      const byPrefix = await eventually(async () => {
        const found = await angelia(['status', id.slice(0, 30), '--json']);
        return found.code === 0 && found;
      });
      expect(JSON.parse(byPrefix.stdout)).toMatchObject({ id });
      expect(await refused(2, 'status', id.slice(0, 2))).toContain('is the beginning of several ids: 0');
      expect(await refused(2, 'status', 'no-id')).toContain('is not the beginning of the id of a session');
    });

    it('logs and transcript show its events and messages; logs --follow ends when it is settled', async () => {
      const id = await settled('tell me');
      const logged = await lines('logs', id);
      expect(logged).toEqual(JSON.parse(JSON.stringify(await stack.events(id))));
      expect(await lines('logs', '--follow', id)).toEqual(logged);
      const some = await angelia(['logs', id, '--type', 'delivery.']);
      expect(some.stdout.trimEnd().split('\n')).toHaveLength(2);
      const { messages } = await json<{ messages: { role: string }[] }>('transcript', id);
      expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
      expect((await angelia(['transcript', id])).stdout).toContain('answer to: tell me');
      expect(await refused(3, 'logs', '--follow', UNKNOWN)).toContain('there is no session');
    });

    it('tail shows the events of all sessions, from the first one on', async () => {
      const tailing = goingOn('tail', '--type', 'session.');
      await eventually(() => tailing.seen().stderr.includes('waiting for events'));
      const id = await settled('tailed');
      await eventually(() => tailing.seen().stdout.includes(`${id}  session.ended`));
      const { code, stdout } = await tailing.interrupted();
      expect(code).toBe(130);
      const types = [...stdout.matchAll(new RegExp(`${id}  (\\S+)`, 'g'))].map(([, type]) => type);
      expect(types).toEqual(['session.created', 'session.final-response', 'session.ended']);
    });

    it('tail shows more sessions at once than any number of streams', async () => {
      const tailing = goingOn('tail', '--type', 'session.ended', '--route', 'cli', '--json');
      // With --json there is no note. The feed is open when it shows the end of a session that began after it was asked for.
      await eventually(async () => {
        await settled('is it open?');
        return tailing.seen().stdout.includes('session.ended');
      });
      const posted = await Promise.all(
        Array.from({ length: 60 }, (_, n) => stack.post({ route: 'cli', body: { text: `of many ${n}` } })),
      );
      const ids = posted.map(({ sessionId }) => sessionId);
      const ended = () =>
        tailing
          .seen()
          .stdout.split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line).session_id);
      await eventually(() => ids.every((id) => ended().includes(id)));
      await tailing.interrupted();
      expect(new Set(ended()).size).toBe(ended().length);
      for (const id of ids) await stack.waitForEnd(id, { settled: true });
    });

    it('are found by title, delivery id, agent, model and time, sorted and counted', async () => {
      const id = await send('--data', '{"text":"Needle one"}', '--delivery-id', 'needle-1');
      const other = await send('--data', '{"text":"a needle, too"}');
      for (const each of [id, other]) await stack.waitForEnd(each, { settled: true });
      type Listed = { items: { id: string }[] };
      const found = async (...filter: string[]) =>
        (await json<Listed>('sessions', 'list', ...filter)).items.map((item) => item.id);
      const both = [other, id];
      await eventually(async () => (await found('--title', 'NEEDLE', '--outcome', 'succeeded')).length === 2);
      expect(await found('--title', 'needle')).toEqual(both);
      expect(await found('--title', 'needle', '--sort', 'oldest')).toEqual([id, other]);
      expect(await found('--delivery-id', 'needle-1')).toEqual([id]);
      const wide = [
        '--title',
        'needle',
        '--agent',
        'cli',
        '--model',
        'cli',
        '--since',
        '1h',
        '--status',
        'ended',
      ];
      expect(await found(...wide, '--sort', 'tokens')).toHaveLength(2);
      expect(await found(...wide, '--until', '1h')).toEqual([]);
      expect(await found(...wide, '--failure', 'timeout')).toEqual([]);
      expect(await json('sessions', '--title', 'needle', '--count')).toEqual({ count: 2, count_exact: true });
      expect((await angelia(['sessions', '--title', 'needle', '--count'])).stdout).toBe('2\n');
      expect(await refused(2, 'sessions', '--since', 'soon')).toContain('since');

      const narrow = await angelia(['sessions', '--title', 'needle'], {
        columns: 80,
        env: { NO_COLOR: '1' },
      });
      for (const line of narrow.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
      expect(narrow.stdout).toContain(`${id}  succeeded`);
      const all = await angelia(['sessions', '--title', 'needle', '-o', 'wide'], {
        columns: 80,
        env: { NO_COLOR: '1' },
      });
      for (const head of ['DURATION', 'AGENT', 'MODEL', 'TOKENS', 'DELIVERY ID'])
        expect(all.stdout).toContain(head);
    });

    it('tail shows webhooks that started no session, with the reason', async () => {
      const tailing = goingOn('tail', '--type', 'webhook.', '--route', 'picky');
      await eventually(() => tailing.seen().stderr.includes('waiting for events'));
      // The first look shows nothing: what is older than `tail` is in `webhooks list`.
      const shown = await eventually(async () => {
        await angelia(['send', 'picky', '--event', 'push']);
        return tailing
          .seen()
          .stdout.split('\n')
          .find((line) => line.includes('webhook.ignored'));
      });
      expect(shown).toContain('the event was "push"; `events` of the route wants deploy');
      expect(shown).toContain('from 127.0.0.1');
      expect((await tailing.interrupted()).code).toBe(130);
    });

    it('answer shows and answers the open question; without one it gives 6', async () => {
      model.next(callTool('clarify', { question: 'Red or blue?', choices: ['Red', 'Blue'] }));
      const id = await send('--data', '{"text":"paint it"}');
      await eventually(async () => (await stack.session(id)).status === 'waiting');
      expect((await angelia(['answer', id])).stdout).toContain('Red or blue?\n  1. Red\n  2. Blue');
      expect(await refused(2, 'answer', id, '--choice', '3')).toContain('from 1 to 2');
      const followed = await lines('answer', id, '--choice', '2', '--wait');
      expect(followed.find(({ type }) => type === 'clarification.answered')).toMatchObject({
        data: { answer: 'Blue' },
      });
      expect(await refused(6, 'answer', id, 'Red')).toContain('has no open question');
    });

    it('message, resume and cancel', async () => {
      const id = await settled('begin');
      const [said] = await lines('message', id, 'go on', '--idempotency-key', 'k1');
      expect(said?.session_id).not.toBe(id);
      expect(await lines('message', id, 'go on', '--idempotency-key', 'k1')).toEqual([said]);
      await stack.waitForEnd(String(said?.session_id), { settled: true });
      const resumed = await lines('resume', String(said?.session_id), '--wait');
      expect(resumed.at(-1)).toMatchObject({ status: 'ended', continues: said?.session_id });
      expect(await refused(6, 'cancel', id)).toContain('cannot be cancelled');
      expect(await refused(3, 'cancel', UNKNOWN)).toContain('there is no session');
      const both = await angelia(['cancel', UNKNOWN, id, '--json']);
      expect([
        both.code,
        both.stderr
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line).code),
      ]).toEqual([3, ['not_found', 'refused']]);
      expect(await refused(2, 'message', id, ' ')).toContain('give some text');
    });
  });

  describe('what went wrong', () => {
    it('status of a failed session begins with the reason, which is whole', async () => {
      model.next(fail(400));
      const id = await settled('this will fail');
      const failed = (await stack.events(id)).find(({ type }) => type === 'run.failed');
      const { code, message } = (failed?.data ?? {}) as { code: string; message: string };
      const { stdout } = await angelia(['status', id], { columns: 60, env: { NO_COLOR: '1' } });
      expect(stdout.split('\n')[0]).toMatch(/^reason +/);
      expect(stdout.split('\n')[0]).toContain(`${code}: ${message}`);
      expect(await json('status', id)).toMatchObject({ failure: { code, message } });
    });

    it('doctor shows what went wrong in the last hour, each by reason', async () => {
      model.next(fail(400));
      await settled('failed in this hour');
      sink.next(answer(400));
      await settled('dead in this hour');
      await accepted('scarce', '--data', '{"text":"the first"}');
      await angelia(['send', 'scarce', '--data', '{"text":"one too many"}']);
      model.next(fail(429, '3600'));
      const { session_id: waiting } = await json('send', 'busy', '--data', '{"text":"later"}');
      type Found = { findings: { check: string; state: string; what: string; todo?: string }[] };
      const found = await eventually(async () => {
        const { findings } = JSON.parse((await angelia(['doctor', '--json'])).stdout) as Found;
        const about = (check: string) => findings.find((one) => one.check === `last-hour.${check}`);
        const all = ['deliveries.http', 'sessions.models_failed', 'webhooks.scarce', 'models.cli-busy'].map(
          about,
        );
        return all.every((one) => one !== undefined) && all;
      });
      expect(found).toMatchObject([
        { state: 'warning', what: expect.stringMatching(/dead; the last: .*400/) },
        { state: 'warning', what: expect.stringMatching(/failed; the last: ./) },
        {
          state: 'warning',
          what: '1 webhook refused (rate_limited); the last: this route takes at most 1 webhooks per minute: send it again later',
          todo: expect.stringContaining('raise `rate_limit` of route scarce'),
        },
        { state: 'warning', what: expect.stringMatching(/^1 session waits for it/) },
      ]);
      await angelia(['cancel', String(waiting)]);
      await stack.waitForEnd(String(waiting), { settled: true });
    });
  });

  describe('deliveries and webhooks', () => {
    it('dead deliveries are listed with the reason and sent again, one by id or all', async () => {
      sink.next(answer(400), answer(400));
      const ids = [await settled('dead one'), await settled('dead two')];
      type Listed = { items: { id: string; reason: string }[] };
      const dead = await eventually(async () => {
        const { items } = await json<Listed>('deliveries', '--status', 'dead', '--route', 'cli');
        const mine = items.filter(({ id }) => ids.includes(id.slice(0, 36)));
        return mine.length === 2 && mine;
      });
      expect(dead[0]?.reason).toContain('400');
      const [first = { id: '' }] = dead;
      expect(await json('retry', first.id)).toEqual({ id: first.id, session_id: first.id.slice(0, 36) });
      const rest = await json<{ retried: string[] }>(
        'retry',
        '--dead',
        '--session',
        dead[1]?.id.slice(0, 36) ?? '',
      );
      expect(rest).toEqual({ retried: [dead[1]?.id], refused: [], more: false });
      for (const id of ids) await eventually(() => sink.answersOf(id).length === 1);
      await eventually(async () => (await angelia(['retry', first.id])).code === 6);
      expect(await refused(3, 'retry', `${ids[0]}.99`)).toContain('there is no delivery');
    });

    it('webhooks says why nothing happened', async () => {
      await angelia(['send', 'cli', '--secret', 'wrong']);
      const { stdout } = await eventually(async () => {
        const listed = await angelia(['webhooks', '--route', 'cli', '--outcome', 'unauthorized']);
        return listed.stdout.includes('unauthorized') && listed;
      });
      expect(stdout).toContain('401');
      expect(stdout).toContain('127.0.0.1');
      expect(stdout).toMatch(/\n {2}X-\S+ does not match the only secret of the route/);
      expect((await angelia(['webhooks', 'counts'])).stdout).toContain('unauthorized');
    });

    it('dead letters can be listed; an unknown one cannot be replayed', async () => {
      expect(await json('dead-letters')).toEqual({ items: [], next_cursor: null });
      expect(await refused(3, 'dead-letters', 'replay', '7')).toContain('there is no dead letter');
      expect(await refused(2, 'dead-letters', 'replay', 'x')).toContain('give a number');
    });
  });

  describe('many at once', () => {
    const question = () => callTool('clarify', { question: 'Go on?' });
    const asking = async (title: string): Promise<string> => {
      model.next(question());
      const id = await send('--data', JSON.stringify({ text: title }));
      await eventually(async () => (await stack.session(id)).status === 'waiting');
      return id;
    };
    const counted = (count: number, ...filter: string[]) =>
      eventually(async () => {
        const listed = await json<{ count: number }>('sessions', '--count', ...filter);
        return listed.count === count;
      });

    it('a dry run counts and shows; a job cancels what the filter finds, and nothing else', async () => {
      const ids = [await asking('bulk one'), await asking('bulk two')];
      const other = await asking('not meant');
      const filter = ['--title', 'bulk', '--status', 'waiting'];
      await counted(2, ...filter);
      expect(await json('cancel', ...filter, '--dry-run')).toMatchObject({
        job_id: null,
        matches: 2,
        sample: ids.map((id) => ({ id })),
      });
      const shown = await angelia(['cancel', ...filter, '--dry-run']);
      expect(shown.stdout).toContain('would cancel 2 sessions\n');
      for (const id of ids) expect(shown.stdout).toContain(id);
      // Nobody is there to be asked.
      const silent = await angelia(['cancel', ...filter], { input: '' });
      expect([silent.code, silent.stderr]).toEqual([
        2,
        expect.stringContaining('cancel 2 sessions: give --yes'),
      ]);
      const no = await angelia(['cancel', ...filter], { typed: 'n\n' });
      expect([no.code, no.stderr]).toEqual([1, expect.stringContaining('cancel 2 sessions? [y/N]')]);
      for (const id of ids) expect((await stack.session(id)).status).toBe('waiting');

      const yes = await angelia(['cancel', ...filter], { typed: 'y\n' });
      expect([yes.code, yes.stdout]).toEqual([
        0,
        expect.stringMatching(/^job [0-9a-f-]{36} is finished: 2 done, 0 skipped, 0 failed\n$/),
      ]);
      for (const id of ids) expect(await stack.session(id)).toMatchObject({ outcome: 'cancelled' });
      expect((await stack.session(other)).status).toBe('waiting');
      const job = /[0-9a-f-]{36}/.exec(yes.stdout)?.[0] ?? '';
      expect((await angelia(['jobs'], { columns: 80, env: { NO_COLOR: '1' } })).stdout).toContain(
        `${job}  finished  cancel`,
      );
      expect((await angelia(['jobs', 'show', job.slice(0, 30)])).stdout).toMatch(
        /^result +2 done, 0 skipped/m,
      );
      expect(await refused(6, 'jobs', 'cancel', job)).toContain('it has finished');
      await json('cancel', other);
    });

    it('resumes, retries and erases by filter', async () => {
      const id = await settled('bulk story');
      await counted(1, '--title', 'bulk story', '--outcome', 'succeeded');
      const resumed = await json('resume', '--title', 'bulk story', '--outcome', 'succeeded', '--yes');
      expect(resumed).toMatchObject({ action: 'resume', status: 'finished', done: 1 });
      const continuation = await eventually(async () => {
        const { items } = await json<{ items: { id: string; continues?: string; status: string }[] }>(
          'sessions',
        );
        return items.find(({ continues, status }) => continues === id && status === 'ended')?.id;
      });
      await stack.waitForEnd(continuation, { settled: true });

      sink.next(answer(400));
      const dead = await settled('bulk dead');
      await eventually(async () => {
        const preview = await json<{ matches: number }>('retry', '--session', dead, '--dry-run');
        return preview.matches === 1;
      });
      const detached = await json<{ job_id: string }>('retry', '--session', dead, '--yes', '--detach');
      expect(await json('jobs', 'show', '--follow', detached.job_id)).toMatchObject({ done: 1 });
      await stack.waitForEnd(dead, { settled: true });
      await eventually(() => sink.answersOf(dead).length === 1);

      await counted(1, '--title', 'bulk dead');
      await eventually(async () => {
        await json('erase', '--title', 'bulk dead', '--yes');
        return (await angelia(['status', dead])).code === 3;
      });
      expect(await json('dead-letters', 'replay', '--all', '--yes')).toMatchObject({
        status: 'finished',
        done: 0,
      });
    });
  });

  it('processes are listed, read and killed', async () => {
    model.next(
      callTool('terminal', {
        command: 'echo started; sleep 600',
        background: true,
        notify_on_complete: true,
      }),
    );
    const id = await send('--data', '{"text":"in the background"}');
    type Listed = { items: { id: string; session_id: string; status: string }[] };
    const [process = { id: '' }] = await eventually(async () => {
      const { items } = await json<Listed>('processes', '--session', id);
      return items.length === 1 && items;
    });
    await eventually(async () => (await angelia(['processes', 'output', process.id])).stdout === 'started\n');
    expect((await angelia(['processes'])).stdout).toContain(process.id);
    const beginning = process.id.slice(0, -4);
    expect(await json('processes', 'kill', beginning)).toMatchObject({ id: process.id, session_id: id });
    await stack.waitForEnd(id, { settled: true });
    await eventually(async () => (await angelia(['processes', 'kill', process.id])).code === 6);
    expect(await refused(3, 'processes', 'kill', 'proc_none')).toContain('there is no process');
  });

  it('routes can be added, shown, given a new secret and removed', async () => {
    const made = await angelia([
      'routes',
      'add',
      'deploys',
      '--prompt',
      'Say: {text}',
      '--deliver',
      'log',
      '--agent',
      'cli',
      '--toolsets',
      'clarify',
    ]);
    expect([made.code, made.stderr]).toEqual([0, expect.stringContaining('never shown again')]);
    const secret = /whsec_\S+/.exec(made.stdout)?.[0] ?? '';
    writeFileSync(join(files, 'old'), secret);
    await accepted('deploys', '--secret-file', 'old');
    expect(await refused(6, 'routes', 'add', 'deploys', '--prompt', 'other')).toContain('exists already');
    expect(await json('routes', 'show', 'deploys')).toMatchObject({ definition: { prompt: 'Say: {text}' } });
    expect((await angelia(['routes'])).stdout).toMatch(/^deploys +active +api +log/m);

    const rotated = await json<{ secret: string }>(
      'routes',
      'rotate-secret',
      'deploys',
      '--old-secret-file',
      'old',
    );
    expect(rotated.secret).not.toBe(secret);
    for (const each of [secret, rotated.secret]) {
      const sent = await eventually(async () => {
        const tried = await angelia(['send', 'deploys', '--secret', each, '--json']);
        return tried.code === 0 && tried;
      });
      const { status, session_id: id } = JSON.parse(sent.stdout);
      expect(status).toBe('accepted');
      await stack.waitForEnd(id, { settled: true });
    }
    await json('routes', 'rotate-secret', 'deploys');
    await eventually(async () => (await angelia(['send', 'deploys', '--secret', secret])).code === 4);
    expect(await refused(6, 'routes', 'rotate-secret', 'cli')).toContain('is in the config file');
    expect(await refused(6, 'routes', 'add', 'cli', '--prompt', 'x')).not.toContain('--replace');
    expect(await refused(6, 'routes', 'add', 'deploys', '--prompt', 'x')).toContain('--replace');

    writeFileSync(
      join(files, 'route.yaml'),
      'prompt: "From a file: {text}"\nevents: [deploy]\nagent: cli\ntoolsets: [clarify]\n',
    );
    const replaced = await json('routes', 'add', 'deploys', '--file', 'route.yaml', '--replace');
    expect(replaced).toMatchObject({ definition: { prompt: 'From a file: {text}', events: ['deploy'] } });
    writeFileSync(join(files, 'bad.yaml'), 'prompt: [\n');
    expect(await refused(2, 'routes', 'add', 'x', '--file', 'bad.yaml')).toContain('bad.yaml: line');
    expect(await refused(2, 'routes', 'add', 'x', '--prompt', 'y', '--agent', 'nobody')).toContain('nobody');

    expect(await json('routes', 'remove', 'deploys', '--yes')).toEqual({ name: 'deploys', removed: true });
    expect(await refused(3, 'routes', 'show', 'deploys')).toContain('there is no route deploys');
  });

  it('export, erase, import, rebuild and prune work on the database', async () => {
    const id = await settled('keep me');
    const before = await stack.events(id);
    // The list is a moment behind the log.
    await eventually(async () => (await angelia(['status', id.slice(0, 30)])).code === 0);
    expect(await json('export', id.slice(0, 30), '--to', 'exports')).toMatchObject({
      sessions: 1,
      events: before.length,
    });
    await eventually(async () => (await angelia(['erase', id, '--yes'])).code === 0);
    expect(await refused(3, 'status', id)).toContain('there is no session');
    const [file = ''] = readdirSync(join(files, 'exports'));
    expect(await lines('import', join('exports', file))).toEqual([
      { file: join(files, 'exports', file), sessions: 1, events: before.length },
    ]);
    const stories = (events: typeof before) =>
      events.map(({ version, type, data }) => ({ version, type, data }));
    expect(stories(await stack.events(id))).toEqual(stories(before));
    expect(await json('rebuild')).toMatchObject({ events: expect.any(Number) });
    expect(await json('prune', '--yes')).toEqual({ sessions: 0, keys: 0 });

    writeFileSync(join(files, 'no-export.gz'), 'this is no gzip');
    expect(await refused(2, 'import', 'no-export.gz')).toContain('is not a line of an export');
    expect(await refused(3, 'import', 'absent.gz')).toContain('does not exist');
    const missing = await angelia(['export', UNKNOWN, '--to', 'exports']);
    expect([missing.code, missing.stderr]).toEqual([3, expect.stringContaining(UNKNOWN)]);
    const down = await angelia(['rebuild'], { env: { DATABASE_URL: 'postgres://a:b@127.0.0.1:1/c' } });
    expect([down.code, down.stderr]).toEqual([5, expect.stringContaining('ECONNREFUSED')]);
    expect(down.stderr).not.toContain('a:b');
  });

  describe('the program', () => {
    it('is reached without npx', async () => {
      const wrapper = fileURLToPath(new URL('../../../angelia', import.meta.url));
      const child = spawn(wrapper, ['sessions', '--count'], { env: { PATH: process.env.PATH, ...env() } });
      let stdout = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        stdout += text;
      });
      const code = await new Promise((resolve) => child.once('close', resolve));
      expect([code, stdout]).toEqual([0, expect.stringMatching(/^\d+\n$/)]);
    });

    const run = (...argv: string[]) =>
      spawn(PROGRAM, argv, { env: { PATH: process.env.PATH, ...env() }, stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = (child: ReturnType<typeof run>) =>
      new Promise<{ code: number | null; stderr: string }>((resolve) => {
        let stderr = '';
        child.stderr.setEncoding('utf8').on('data', (text: string) => {
          stderr += text;
        });
        child.once('close', (code) => resolve({ code, stderr }));
      });

    it('prints nothing when its reader closes the pipe', async () => {
      // Without a session there is nothing to write.
      await angelia(['send', 'cli', '--wait']);
      const child = run('sessions', '--watch', '--json', '--limit', '50');
      const end = ended(child);
      // Closed before the program writes, so its output has no reader.
      child.stdout.destroy();
      expect(await end).toEqual({ code: 141, stderr: '' });
    });

    it('ends on Ctrl-C with 130 and no error', async () => {
      const child = run('tail');
      const end = ended(child);
      await new Promise((resolve) => child.stderr.once('data', resolve));
      child.kill('SIGINT');
      expect(await end).toEqual({ code: 130, stderr: 'waiting for events (press Ctrl-C to stop)\n' });
    });

    it('never prints the secret of the config', async () => {
      const { stdout, stderr } = await angelia(['send', 'cli', '--wait']);
      expect(stdout + stderr).not.toContain(TEST_SECRET);
    });
  });
}
