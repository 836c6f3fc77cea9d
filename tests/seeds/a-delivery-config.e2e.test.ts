import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  deleteHintStream,
  eventually,
  fail,
  type ModelRequest,
  type ModelServer,
  type ModelStep,
  type Sink,
  say,
  startModelServer,
  startSink,
  startTelegram,
  startTestStack,
  TEST_SINK_SECRET,
  type TelegramStandIn,
  type TestStack,
  testConfig,
  testRoute,
  tooLong,
} from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { adminCall, eventsOf, isGone, prune, runnerOf } from './admin.ts';
import { gate } from './gate.ts';

// Seed 000: the first interim status consumed the delivery config, so the answer went to the log instead of Telegram. Every
// scenario ends at Telegram. The tests search the log files to see that nothing went to `log`; a control test shows that the
// search finds what did go there.

const BOT_TOKEN = '123456:AAabcdefghijklmnopqrstuvwxyz123456789';
const FALLBACK_NOTICE = 'Primary model failed, switching to fallback: backup';
/** The lease of SHORT_TIMING. */
const LEASE_MS = 3_000;
const SESSIONS_AT_ONCE = 100;

let telegram: TelegramStandIn;
/** For the `http` target. Nothing here should be sent to it. */
let sink: Sink;
let model: ModelServer;
let stack: TestStack;
/** What the backup model does with an input that begins with this word. The primary model fails. */
let backup: Record<string, (request: ModelRequest) => ModelStep | Promise<ModelStep>>;
let primaryIsBack = false;

const route = (over: object = {}) =>
  testRoute(sink.url, { deliver: 'telegram', deliver_extra: { chat_id: '{chat}' }, ...over });
const configOf = (parts: Partial<Parameters<typeof testConfig>[0]>) =>
  testConfig({
    sinkUrl: sink.url,
    modelUrl: model.baseUrl,
    models: {
      backup: { provider: 'openai-compatible', base_url: model.baseUrl, model: 'm2', context_tokens: 8_000 },
    },
    agent: { fallback_models: ['backup'], max_concurrency: SESSIONS_AT_ONCE },
    ...parts,
  });
const wholeConfig = () =>
  configOf({
    targets: { telegram: { bot_token: BOT_TOKEN, api_base: telegram.url } },
    routes: {
      telegram: route(),
      titled: route({ title: 'Alert {number} of {host}' }),
      'to-log': testRoute(sink.url, { deliver: 'log', deliver_extra: {} }),
    },
  });

beforeAll(async () => {
  [sink, model, telegram] = await Promise.all([
    startSink({ secret: TEST_SINK_SECRET }),
    startModelServer(),
    startTelegram({ token: BOT_TOKEN }),
  ]);
  model.behave(async (request) => {
    if (request.body.model === 'm1' && !primaryIsBack) return fail(400);
    const word = /\w+/.exec(request.input)?.[0] ?? '';
    return (await backup[word]?.(request)) ?? say(`answer to: ${request.input}`);
  });
  stack = await startTestStack({ config: wholeConfig() });
});

beforeEach(() => {
  backup = {};
  primaryIsBack = false;
});

afterEach(() => {
  // Nothing that was sent breaks the rules of a platform or protocol, and nothing for Telegram went elsewhere.
  expect(telegram.problems).toEqual([]);
  expect(model.problems).toEqual([]);
  expect(sink.received).toEqual([]);
});

afterAll(async () => {
  await stack?.stop();
  await Promise.all([sink?.stop(), model?.stop(), telegram?.stop()]);
});

async function post(chat: string, text: string, to: { route?: string; secret?: string } = {}) {
  const { status, sessionId } = await stack.post({ route: 'telegram', ...to, body: { text, chat } });
  expect(status).toBe(202);
  return sessionId;
}

/** The `log` target writes a line with the session's id and the text. */
function isInSomeLog(text: string, id = ''): boolean {
  const logs = join(stack.dataDir, 'logs');
  return readdirSync(logs)
    .flatMap((file) => readFileSync(join(logs, file), 'utf8').split('\n'))
    .some((line) => line.includes(text) && line.includes(id));
}

/** The target of each delivery attempt of the session, from its events. */
async function targetsOf(id: string): Promise<string[]> {
  return eventsOf(await stack.events(id), 'delivery.attempted').map(({ data }) => String(data.target));
}

const asked = (input: string, of: 'm1' | 'm2') =>
  model.requests.filter((request) => request.input === input && request.body.model === of).length;

describe('seed 000: where to deliver is a fact', () => {
  it('(control) a delivery to `log` is found in a log file, so a text that is not found did not go there', async () => {
    const id = await post('10', 'seen in a log file', { route: 'to-log' });
    await stack.waitForEnd(id, { settled: true });
    expect(isInSomeLog('answer to: seen in a log file', id)).toBe(true);
    expect(telegram.shownIn('10')).toEqual([]);
  });

  it('A1 a fallback notice, a compression notice and the answer reach Telegram in order, the answer once, and nothing goes to `log`', async () => {
    const words = Array.from({ length: 9_000 }, (_, n) => `word${n}`).join(' ');
    backup = {
      // Long input is marked as data from outside. A shortened one lacks its middle.
      untrusted: ({ input }) => (input.includes('word4500') ? tooLong() : say('the answer of A1')),
      record: () => say('many words'),
    };
    const id = await post('11', words);
    await stack.waitForEnd(id, { settled: true });
    expect(telegram.shownIn('11')).toEqual([
      FALLBACK_NOTICE,
      'The conversation is getting too long for the model: summarising its older part.',
      'the answer of A1',
    ]);
    expect(await targetsOf(id)).toEqual(['telegram', 'telegram', 'telegram']);
    expect(isInSomeLog('the answer of A1')).toBe(false);
    expect(isInSomeLog(FALLBACK_NOTICE, id)).toBe(false);
  });

  it('A2 the runner is killed (-9) between the notice and the answer: after recovery the answer reaches Telegram once', async () => {
    const never = gate();
    backup = { work: () => never.opened.then(() => say('never seen')) };
    const id = await post('12', 'work on A2');
    await eventually(() => telegram.shownIn('12').length === 1 && asked('work on A2', 'm2') === 1);
    primaryIsBack = true;
    backup = { work: () => say('the answer of A2') };
    const killed = stack.kill(runnerOf(await stack.events(id)));
    await stack.restarted('agent-runner', killed);
    await stack.waitForEnd(id, { settled: true });
    expect(telegram.shownIn('12')).toEqual([FALLBACK_NOTICE, 'the answer of A2']);
    expect(eventsOf(await stack.events(id), 'run.started')).toHaveLength(2);
    expect(isInSomeLog('the answer of A2')).toBe(false);
    never.open();
  });

  // The windows are: leases (3 s here), the age of hints (the test deletes the stream), the memory of services (it kills
  // them), the 7 days of delivery ids (the minimum in the config; the test makes them expire), and the retention of sessions
  // (the test prunes everything that has ended, once during the run and once while the answer waits).
  it('A3 a run longer than every retention and cache window still delivers to its configured target', async () => {
    const answered = gate();
    backup = { take: () => answered.opened.then(() => say('the answer of A3')) };
    const begun = performance.now();
    const earlier = await post('130', 'ended before');
    const id = await post('13', 'take your time');
    await stack.waitForEnd(earlier, { settled: true });
    await eventually(() => telegram.shownIn('13').length === 1 && asked('take your time', 'm2') === 1);

    await eventually(async () => (await prune(stack)) >= 0 && (await isGone(stack, earlier)));
    await expireDeliveryIds();
    await deleteHintStream(stack.natsUrl);
    const killed = { delivery: stack.kill('delivery'), ingress: stack.kill('ingress') };
    await stack.restarted('delivery', killed.delivery);
    await stack.restarted('ingress', killed.ingress);
    await eventually(() => stack.session(id));
    await eventually(() => performance.now() - begun > 2 * LEASE_MS, { describe: 'two leases are over' });

    telegram.behave({ kind: 'answer', answer: { status: 500, body: { ok: false, error_code: 500 } } });
    answered.open();
    await eventually(async () => eventsOf(await stack.events(id), 'delivery.failed').length > 0);
    await prune(stack);
    expect(await isGone(stack, id)).toBe(false);
    telegram.behave({ kind: 'take' });
    const session = await stack.waitForEnd(id, { settled: true });
    expect(session).toMatchObject({ generation: 1, deliver: { target: 'telegram', to: { chat_id: '13' } } });
    expect(telegram.shownIn('13')).toEqual([FALLBACK_NOTICE, 'the answer of A3']);
    expect(isInSomeLog('the answer of A3')).toBe(false);
  });

  it('A4 the route is edited, then deleted, during the run: the delivery goes where it was configured at acceptance', async () => {
    const answered = gate();
    backup = { edit: () => answered.opened.then(() => say('the answer of A4')) };
    const to = (chat: string) => ({
      prompt: '{text}',
      deliver: 'telegram',
      deliver_extra: { chat_id: chat },
    });
    const made = await adminCall(stack, 'PUT', '/v1/routes/a4', to('14'));
    expect(made.status).toBe(201);
    const id = await post('none', 'edit me', { route: 'a4', secret: String(made.body.secret) });
    await eventually(() => asked('edit me', 'm2') === 1);
    expect((await adminCall(stack, 'PUT', '/v1/routes/a4', to('140'))).status).toBe(200);
    expect((await adminCall(stack, 'DELETE', '/v1/routes/a4')).status).toBe(204);
    expect((await stack.session(id)).status).toBe('running');
    answered.open();
    await stack.waitForEnd(id, { settled: true });
    expect(telegram.shownIn('14')).toEqual([FALLBACK_NOTICE, 'the answer of A4']);
    expect(telegram.shownIn('140')).toEqual([]);
    expect(isInSomeLog('the answer of A4')).toBe(false);
  });

  describe('A5 a target that cannot be resolved: a visible error, and never `log` instead', () => {
    it('A5 noticed when the webhook arrives: it is refused, with the reason', async () => {
      const refused = await stack.post({ route: 'telegram', body: { text: 'to nobody' } });
      expect([refused.status, refused.body.error]).toEqual([400, expect.stringContaining('chat_id')]);
      const route = { prompt: '{text}', deliver: 'slack', deliver_extra: { channel: 'C0123456789' } };
      const put = await adminCall(stack, 'PUT', '/v1/routes/a5', route);
      expect([put.status, put.body.error]).toEqual([400, expect.stringContaining('slack')]);
    });

    it('A5 noticed when the answer is sent: the delivery is dead with the reason, and is listed as dead', async () => {
      const id = await post('404', 'a chat that is not there');
      const { outcome, deliveries } = await stack.waitForEnd(id, { settled: true });
      expect({ outcome, ...deliveries }).toMatchObject({ outcome: 'succeeded', delivered: 0, dead: 2 });
      const reasons = eventsOf(await stack.events(id), 'delivery.dead').map(({ data }) => data.reason);
      expect(reasons).toEqual([
        expect.stringContaining('chat not found'),
        expect.stringContaining('chat not found'),
      ]);
      await eventually(async () => (await deadOf(id)).length === 2);
      expect(isInSomeLog('answer to: a chat that is not there')).toBe(false);
    });

    it('A5 removed from the config after the webhook was accepted: dead with the reason; a retry sends it when the target is back', async () => {
      await stack.hold('delivery');
      const id = await post('15', 'where to');
      await stack.waitForEnd(id);
      const deliveryWith = async (config: string) => {
        writeFileSync(join(stack.dataDir, 'angelia.yaml'), config);
        await stack.resume('delivery');
      };
      try {
        await deliveryWith(configOf({}));
        await stack.waitForEnd(id, { settled: true });
        const dead = eventsOf(await stack.events(id), 'delivery.dead');
        expect(dead.map(({ data }) => data.reason)).toEqual([
          expect.stringContaining('`telegram` is not configured'),
          expect.stringContaining('`telegram` is not configured'),
        ]);
        await eventually(async () => (await deadOf(id)).length === 2);
        expect(isInSomeLog('answer to: where to')).toBe(false);
        expect(telegram.shownIn('15')).toEqual([]);
      } finally {
        await stack.hold('delivery');
        await deliveryWith(wholeConfig());
        // The other services take the file as well, and other tests need its routes.
        await eventually(() => stack.adminGet('/v1/routes/telegram').catch(() => null));
      }
      const final = eventsOf(await stack.events(id), 'session.final-response')[0]?.version;
      expect((await adminCall(stack, 'POST', `/v1/deliveries/${id}.${final}/retry`)).status).toBe(202);
      await eventually(() => telegram.shownIn('15').length > 0);
      expect(telegram.shownIn('15')).toEqual(['answer to: where to']);
    });
  });

  it('A6 100 sessions at once on one route: each chat sees its own notice and its own answer', async () => {
    const all = gate();
    let waiting = 0;
    backup = {
      crowd: async ({ input }) => {
        waiting += 1;
        if (waiting === SESSIONS_AT_ONCE) all.open();
        await all.opened;
        return say(`answer to: ${input}`);
      },
    };
    const chats = Array.from({ length: SESSIONS_AT_ONCE }, (_, n) => String(1_600 + n));
    const ids = await Promise.all(chats.map((chat) => post(chat, `crowd ${chat}`)));
    let runs = 0;
    for (const id of ids) runs += (await stack.waitForEnd(id, { settled: true })).generation;
    expect(Object.fromEntries(chats.map((chat) => [chat, telegram.shownIn(chat)]))).toEqual(
      Object.fromEntries(chats.map((chat) => [chat, [FALLBACK_NOTICE, `answer to: crowd ${chat}`]])),
    );
    // One call per run. A session has one run, unless the machine is so busy that a run loses its lease of three seconds.
    expect(waiting).toBeLessThanOrEqual(runs);
    expect(isInSomeLog('answer to: crowd')).toBe(false);
  });

  it('A7 the status shows the full id and the title; resume takes that id, and nothing takes a shortened one', async () => {
    const { sessionId } = await stack.post({
      route: 'titled',
      body: { text: 'look', chat: '17', number: 7, host: 'db-1' },
    });
    const shown = await stack.waitForEnd(sessionId, { settled: true });
    expect(shown).toMatchObject({ id: sessionId, title: 'Alert 7 of db-1' });
    expect(shown.id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    const listed = await eventually(async () => {
      const { items } = await stack.adminGet<{ items: { id: string; title: string }[] }>(
        '/v1/sessions?route=titled',
      );
      return items.length > 0 && items;
    });
    expect(listed.map(({ id, title }) => ({ id, title }))).toEqual([
      { id: sessionId, title: 'Alert 7 of db-1' },
    ]);

    const short = await adminCall(stack, 'POST', `/v1/sessions/${shown.id.slice(0, 12)}/resume`);
    expect(short.status).toBeGreaterThanOrEqual(400);
    const resumed = await adminCall(stack, 'POST', `/v1/sessions/${listed[0]?.id}/resume`);
    expect(resumed.status).toBe(202);
    const next = await stack.waitForEnd(String(resumed.body.session_id), { settled: true });
    expect(next).toMatchObject({ continues: sessionId, title: 'Alert 7 of db-1', outcome: 'succeeded' });
    const [, answer, , nextAnswer] = telegram.shownIn('17');
    expect([answer, nextAnswer]).toEqual(['answer to: look', expect.stringContaining('answer to: Go on')]);
  });
});

async function deadOf(session: string): Promise<{ id: string }[]> {
  const { items } = await stack.adminGet<{ items: { id: string }[] }>(
    `/v1/deliveries?status=dead&session=${session}`,
  );
  return items;
}

async function expireDeliveryIds(): Promise<void> {
  const client = new pg.Client({ connectionString: stack.postgresUrl });
  await client.connect();
  try {
    await client.query(`UPDATE angelia.idempotency_keys SET expires_at = now() - interval '1 hour'`);
  } finally {
    await client.end();
  }
}
