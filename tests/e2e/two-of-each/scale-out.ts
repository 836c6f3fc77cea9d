import { randomUUID } from 'node:crypto';
import {
  callTool,
  eventually,
  type ModelRequest,
  type ModelServer,
  type PostAnswer,
  type Sink,
  say,
  startModelServer,
  startSink,
  startTelegram,
  TEST_SINK_SECRET,
  type TelegramStandIn,
  testRoute,
} from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { addToStack, modelAt, stack } from '../shared-stack.ts';

// Two replicas of every service: no double run, no double delivery, work is shared, and limits hold across replicas.

const TOKEN = '1:scale-out';
const CHAT = '77';
const NARROW = 3;
const PER_MINUTE = 20;
/** The least share of one replica. Hints go to whoever asks first, so it is never exactly half. */
const FAIR_SHARE = 0.15;

const COUNTS = { plain: 120, tools: 24, background: 12, coalesced: 15, keyed: 15, narrow: 24, telegram: 7 };

interface Logged {
  readonly stream: string;
  readonly version: number;
  readonly type: string;
  readonly at: number;
  readonly actor: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const narrowIsFull = Promise.withResolvers<void>();
let sink: Sink;
let model: ModelServer;
let telegram: TelegramStandIn;
let log: Logged[];
let posted: PostAnswer[];
let limited: { readonly answers: PostAnswer[]; readonly seconds: number };

const narrowCalls = () => model.requests.filter(({ input }) => input.startsWith('narrow'));

/** The prompt says what the session is for. */
async function think({ input, results }: ModelRequest) {
  if (input.startsWith('[Background process')) return say(`noticed: ${input.split('\n')[0]}`);
  if (input.startsWith('narrow')) {
    // The first ones wait for each other, so that the route reaches its limit even on a slow machine.
    if (narrowCalls().length === NARROW) narrowIsFull.resolve();
    await narrowIsFull.promise;
  }
  const done = say(`answer to: ${input}`, input.startsWith('narrow') ? 120 : 20);
  if (results.length > 0) return done;
  if (input.startsWith('tools')) return callTool('terminal', { command: 'echo done' });
  if (input.startsWith('background')) {
    return callTool('terminal', { command: 'sleep 1; exit 7', background: true, notify_on_complete: true });
  }
  return done;
}

/** Posts to both ingresses in turn, and every third webhook to both at once with the same delivery id. */
async function postAll(): Promise<PostAnswer[]> {
  const [one = '', two = ''] = stack.baseUrls;
  const work = Object.entries(COUNTS).flatMap(([route, count]) =>
    Array.from({ length: count }, (_, n) => ({ route, text: `${route} ${n}`, key: `${route}-${n}` })),
  );
  const answers = await Promise.all(
    work.flatMap(({ route, text, key }, n) => {
      const deliveryId = randomUUID();
      const post = (baseUrl: string, id = deliveryId, body = text) =>
        stack.post({ baseUrl, route, body: { text: body, key }, deliveryId: id });
      const first = n % 2 === 0 ? one : two;
      const other = n % 2 === 0 ? two : one;
      const more = ['coalesced', 'keyed'].includes(route) ? [post(other, randomUUID(), `${text} more`)] : [];
      return n % 3 === 0 ? [post(first), post(other), ...more] : [post(first), ...more];
    }),
  );
  return answers;
}

async function postLimited(): Promise<typeof limited> {
  const begun = performance.now();
  const answers = await Promise.all(
    Array.from({ length: 3 * PER_MINUTE }, (_, n) =>
      stack.post({
        baseUrl: stack.baseUrls[n % 2] ?? '',
        route: 'limited',
        body: { text: `limited ${n}` },
      }),
    ),
  );
  return { answers, seconds: (performance.now() - begun) / 1000 };
}

/** All events of these routes, once every session has ended and every output is settled. */
async function untilSettled(): Promise<Logged[]> {
  const client = new pg.Client(stack.postgresUrl);
  await client.connect();
  try {
    const open = async () => {
      const { rows } = await client.query<{ open: string }>(
        `SELECT count(*) FILTER (WHERE type = 'session.created')
              - count(*) FILTER (WHERE type = 'session.ended')
              + count(*) FILTER (WHERE type IN ('session.final-response', 'session.interim-status'))
              - count(*) FILTER (WHERE type IN ('delivery.succeeded', 'delivery.dead', 'delivery.dropped')) AS open
         FROM angelia.events`,
      );
      return Number(rows[0]?.open);
    };
    await eventually(async () => (await open()) === 0, {
      everyMs: 200,
      describe: 'all sessions are settled',
    });
    const { rows } = await client.query<Logged>(
      `SELECT stream_id AS stream, version, type, (date_part('epoch', recorded_at) * 1000)::float8 AS at,
              meta ->> 'actor' AS actor, data
       FROM angelia.events
       WHERE stream_id IN (SELECT stream_id FROM angelia.events WHERE version = 1 AND data ->> 'route' = ANY ($1))
       ORDER BY stream_id, version`,
      [[...Object.keys(COUNTS), 'limited']],
    );
    return rows;
  } finally {
    await client.end();
  }
}

const of = (type: string) => log.filter((event) => event.type === type);
const instance = (holder: unknown) => String(holder).split('#')[0] ?? '';

function sharesOf(names: readonly string[]): Record<string, number> {
  const shares: Record<string, number> = {};
  for (const name of names) shares[name] = (shares[name] ?? 0) + 1 / names.length;
  return shares;
}

function expectShared(names: readonly string[], service: string): void {
  const shares = sharesOf(names);
  expect(Object.keys(shares).sort()).toEqual([service, `${service}-2`]);
  expect(Math.min(...Object.values(shares))).toBeGreaterThan(FAIR_SHARE);
}

export function scaleOut(): void {
  addToStack(async () => {
    [sink, model, telegram] = await Promise.all([
      startSink({ secret: TEST_SINK_SECRET }),
      startModelServer(),
      startTelegram({ token: TOKEN }),
    ]);
    model.behave(think);
    const route = (over: Record<string, unknown>) => testRoute(sink.url, { agent: 'scaled', ...over });
    return {
      models: { scaled: modelAt(model) },
      agents: {
        scaled: { kind: 'llm', model: 'scaled' },
        equipped: { kind: 'llm', model: 'scaled', toolsets: ['terminal'] },
      },
      targets: { telegram: { bot_token: TOKEN, api_base: telegram.url } },
      routes: {
        plain: route({}),
        tools: route({ agent: 'equipped' }),
        background: route({ agent: 'equipped' }),
        coalesced: route({ coalesce: { key: '{key}', window_seconds: 1, max_wait_seconds: 2 } }),
        keyed: route({ session_key: '{key}', on_busy: 'enqueue' }),
        narrow: route({ max_concurrency: NARROW }),
        limited: route({ rate_limit: PER_MINUTE }),
        telegram: route({ deliver: 'telegram', deliver_extra: { chat_id: CHAT } }),
      },
    };
  });

  afterAll(async () => {
    await Promise.all([sink?.stop(), model?.stop(), telegram?.stop()]);
  });

  describe('two replicas of every service', () => {
    beforeAll(async () => {
      [posted, limited] = await Promise.all([postAll(), postLimited()]);
      log = await untilSettled();
    });

    it('accept each webhook once, whichever of them gets it', () => {
      expect(posted.filter(({ status }) => status !== 200 && status !== 202)).toEqual([]);
      const created = of('session.created');
      expect(new Set(created.map(({ data }) => data.delivery_id)).size).toBe(created.length);
      const accepted = [...posted, ...limited.answers].filter(({ status }) => status === 202);
      expect(created.map(({ stream }) => stream).sort()).toEqual(
        [...new Set(accepted.map(({ sessionId }) => sessionId))].sort(),
      );
      // At least: a second webhook that arrives after the window, or after the end of its keyed session, opens another one.
      const sessions = Object.values(COUNTS).reduce((sum, count) => sum + count, 0);
      expect(new Set(posted.map(({ sessionId }) => sessionId)).size).toBeGreaterThanOrEqual(sessions);
      expect(posted.filter(({ body }) => body.status === 'duplicate').length).toBeGreaterThan(30);
      expectShared(
        of('session.created').map(({ actor }) => instance(actor)),
        'ingress',
      );
    });

    it('run each turn once, and share the runs', () => {
      const runs = of('run.started');
      // A generation is one run. A second one of the same turn would be a takeover.
      const turns = runs.map(({ stream, data }) => `${stream} ${data.turn}`);
      expect(new Set(turns).size).toBe(turns.length);
      expect(runs.filter(({ data }) => data.takeover === true || data.resumed === true)).toEqual([]);
      expect(
        of('session.ended')
          .map(({ stream }) => stream)
          .sort(),
      ).toEqual(
        of('session.created')
          .map(({ stream }) => stream)
          .sort(),
      );
      expectShared(
        runs.map(({ data }) => instance(data.runner)),
        'agent-runner',
      );
    });

    it('carry out each command once, and share the commands', () => {
      const finished = of('tool.finished');
      expect(finished).toHaveLength(COUNTS.tools + COUNTS.background);
      expect(of('process.exited').map(({ data }) => data.exit_code)).toEqual(
        Array.from({ length: COUNTS.background }, () => 7),
      );
      expectShared(
        finished.map(({ data }) => instance(data.watcher)),
        'process-watcher',
      );
    });

    it('deliver each answer once, and share the deliveries', () => {
      const finals = of('session.final-response').filter(({ data }) => data.silent !== true);
      const counts = sink.finalCounts();
      const atTheSink = [...counts.values()].reduce((sum, count) => sum + count, 0);
      expect(telegram.shownIn(CHAT)).toHaveLength(COUNTS.telegram);
      expect(atTheSink + COUNTS.telegram).toBe(finals.length);
      const keys = sink.taken().map(({ webhookId }) => webhookId);
      expect(new Set(keys).size).toBe(keys.length);
      expect(of('delivery.failed')).toEqual([]);
      expectShared(
        of('delivery.attempted').map(({ data }) => instance(data.sender)),
        'delivery',
      );
    });

    it('together keep the rate limit of a route', () => {
      const accepted = limited.answers.filter(({ status }) => status === 202).length;
      expect(limited.answers.filter(({ status }) => status !== 202 && status !== 429)).toEqual([]);
      expect(accepted).toBeGreaterThanOrEqual(PER_MINUTE);
      // A full bucket, and its refill during the test.
      expect(accepted).toBeLessThanOrEqual(PER_MINUTE + Math.ceil((limited.seconds * PER_MINUTE) / 60));
    });

    it('together keep the max_concurrency of a route, as the model sees it', () => {
      const calls = narrowCalls();
      expect(calls).toHaveLength(COUNTS.narrow);
      const most = calls.map(
        ({ at }) => calls.filter((other) => other.at <= at && (other.endedAt ?? Infinity) > at).length,
      );
      expect(Math.max(...most)).toBe(NARROW);
    });

    it('together keep the rate of a chat, as the platform sees it', () => {
      const times = telegram.messages.map(({ at }) => at);
      // One per second. Two independent replicas would need half the time, within the delays of a busy machine.
      const seconds = (Math.max(...times) - Math.min(...times)) / 1000;
      expect(seconds).toBeGreaterThan((times.length - 1) * 0.7);
      expect(telegram.problems).toEqual([]);
    });
  });
}
