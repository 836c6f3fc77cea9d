import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  deleteHintStream,
  type EventView,
  eventually,
  type ModelServer,
  type Sink,
  say,
  startModelServer,
  startSink,
  TEST_SINK_SECRET,
  testRoute,
} from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { sideBySide, type Then } from '../../side-by-side.ts';
import { addToStack, modelAt, stack } from '../shared-stack.ts';

// Tests that take time: slow model calls, drains, windows and queues. They run side by side.

/** Three seconds (SHORT_TIMING). A call of three leases is as slow here as one of 60 s in production. */
const LEASE_MS = 3_000;
/** Enough for the slowest test on a busy machine. A step of `2 * TEST_MS` never arrives. */
const TEST_MS = 240_000;
/** Longer than services take to restart on a busy machine. */
const WINDOW_SECONDS = 8;
/** Longer than the queue's limit of 3 s minus one call. */
const NARROW_MS = 2_200;

type Moment = 'NATS has lost its store' | 'nothing is under way' | 'ingress and the runners were killed';

let sink: Sink;
let model: ModelServer;

const asked = (input: string) => model.requests.filter((request) => request.input === input).length;
const of = (events: readonly EventView[], type: string) => events.filter((event) => event.type === type);
/** The instance that appended the last run.started: `agent-runner` or `agent-runner-2`. */
const runnerOf = (events: readonly EventView[]) =>
  String(of(events, 'run.started').at(-1)?.data.runner).split('#')[0] ?? '';

async function underWay(text: string): Promise<{ id: string; runner: string }> {
  const { status, sessionId: id } = await stack.post({ route: 'plain', body: { text } });
  expect(status).toBe(202);
  await eventually(() => asked(text) === 1, { describe: 'the model is asked' });
  return { id, runner: runnerOf(await stack.events(id)) };
}

async function story(then: Then<Moment>): Promise<void> {
  await then('NATS has lost its store', async () => {
    await deleteHintStream(stack.natsUrl);
    const nats = stack.kill('nats');
    await rm(join(stack.dataDir, 'nats'), { recursive: true, force: true, maxRetries: 10 });
    await stack.restarted('nats', nats);
  });
  await then('nothing is under way');
  await then('ingress and the runners were killed', async () => {
    const killed = ['ingress', 'agent-runner', 'agent-runner-2'].map(
      (name) => [name, stack.kill(name)] as const,
    );
    await Promise.all(killed.map(([name, pid]) => stack.restarted(name, pid)));
  });
}

export function waiting(): void {
  const together = sideBySide<Moment>(TEST_MS);

  addToStack(async () => {
    [sink, model] = await Promise.all([startSink({ secret: TEST_SINK_SECRET }), startModelServer()]);
    model.behave(({ input }) => {
      if (input === 'slow') return say('slow answer', 3 * LEASE_MS);
      if (input === 'old') return say('never seen', 2 * TEST_MS);
      if (input === 'work' && asked('work') === 1) return say('never seen', 2 * TEST_MS);
      return say(`answer to: ${input}`, input.startsWith('narrow') ? NARROW_MS : 0);
    });
    const agent = 'waiting';
    return {
      models: { waiting: modelAt(model) },
      agents: { waiting: { kind: 'llm', model: 'waiting' } },
      routes: {
        plain: testRoute(sink.url, { agent }),
        alerts: testRoute(sink.url, {
          agent,
          coalesce: { key: '{key}', window_seconds: WINDOW_SECONDS, max_wait_seconds: WINDOW_SECONDS + 3 },
        }),
        issues: testRoute(sink.url, { agent, session_key: '{key}', on_busy: 'interrupt' }),
        narrow: testRoute(sink.url, { agent, max_concurrency: 1, max_queue_seconds: 3 }),
      },
    };
  });

  afterAll(async () => {
    expect(model?.problems).toEqual([]);
    await Promise.all([sink?.stop(), model?.stop()]);
  });

  describe('two runners', () => {
    beforeAll(() => together.begin(story));
    afterAll(() => together.over());

    together.it(
      'a runner in a slow model call is not taken over, even when the JetStream store is deleted',
      async (until) => {
        const { id, runner } = await underWay('slow');
        await until('NATS has lost its store');
        await stack.waitForEnd(id, { settled: true });
        const events = await stack.events(id);
        expect(of(events, 'run.started')).toHaveLength(1);
        expect(runnerOf(events)).toBe(runner);
        expect(asked('slow')).toBe(1);
        expect(sink.answersOf(id)).toEqual(['slow answer']);
      },
    );

    together.it(
      'a runner that is told to stop hands over what it cannot finish, and another continues at once',
      async (until) => {
        await until('ingress and the runners were killed');
        const { id, runner } = await eventually(() => underWay('work'));
        await stack.hold(runner);
        await stack.waitForEnd(id, { settled: true });
        await stack.resume(runner);
        const events = await stack.events(id);
        expect(of(events, 'run.interrupted').map((event) => event.data.reason)).toEqual(['drain']);
        expect(of(events, 'run.started').map((event) => event.data.attempt)).toEqual([1, 1]);
        expect(sink.answersOf(id)).toEqual(['answer to: work']);
      },
    );

    together.it(
      'webhooks of one window are one session, one run and one answer, although ingress and runners are killed (-9) in it',
      async (until) => {
        const post = (text: string) =>
          stack.post({ route: 'alerts', body: { text, key: 'disk' }, deliveryId: text });
        await until('nothing is under way');
        const first = await post('one');
        expect(first.status).toBe(202);
        expect((await post('two')).body.status).toBe('coalesced');
        await until('ingress and the runners were killed');
        const third = await eventually(async () => {
          const answer = await post('three').catch(() => null);
          return answer !== null && answer.status < 500 && answer;
        });
        expect(third.sessionId).toBe(first.sessionId);
        expect((await post('two')).body).toMatchObject({ status: 'duplicate', session_id: first.sessionId });
        await stack.waitForEnd(first.sessionId, { settled: true });
        const events = await stack.events(first.sessionId);
        expect(events.filter((event) => event.type === 'run.started')).toHaveLength(1);
        const inputs = model.requests
          .map(({ input }) => input)
          .filter((input) => /one|two|three/.test(input));
        expect(inputs).toEqual(['three\n\n[This replaces 2 earlier webhooks that arrived shortly before.]']);
        expect(sink.answersOf(first.sessionId)).toHaveLength(1);
        const started = Date.parse(events.find((event) => event.type === 'run.started')?.recorded_at ?? '');
        const created = Date.parse(events[0]?.recorded_at ?? '');
        // Not before the window of the last one.
        expect(started - created).toBeGreaterThan(WINDOW_SECONDS * 1_000);
        const next = await post('four');
        expect(next.body.status).toBe('accepted');
        expect(next.sessionId).not.toBe(first.sessionId);
      },
    );

    together.it(
      'webhooks of a session_key interrupt the current run, wherever it is, and after the end open a continuation',
      async (until) => {
        const post = (text: string) =>
          stack.post({ route: 'issues', body: { text, key: '7' }, deliveryId: text });
        await until('NATS has lost its store');
        const { sessionId } = await post('old');
        await eventually(() => asked('old') === 1);
        expect((await post('new')).sessionId).toBe(sessionId);
        // Long before the answer that is no longer wanted.
        await stack.waitForEnd(sessionId, { settled: true });
        expect(sink.answersOf(sessionId)).toEqual(['answer to: new']);
        const later = await post('later');
        const session = await stack.waitForEnd(later.sessionId, { settled: true });
        expect(session.continues).toBe(sessionId);
        const [request] = model.requests.filter(({ input }) => input === 'later');
        expect(request?.body.messages.map((row) => row.content)).toEqual([
          expect.anything(),
          'old',
          expect.stringContaining('cancelled'),
          'new',
          'answer to: new',
          'later',
        ]);
      },
    );

    together.it(
      'a route with max_concurrency and max_queue_seconds runs one at a time, starves no other route, and expires sessions that waited too long',
      async (until) => {
        await until('NATS has lost its store');
        const narrow = [];
        for (let n = 0; n < 4; n += 1)
          narrow.push(await stack.post({ route: 'narrow', body: { text: `narrow ${n}` } }));
        const quick = await stack.post({ route: 'plain', body: { text: 'quick' } });
        await stack.waitForEnd(quick.sessionId);
        const waiting = await Promise.all(narrow.map((one) => stack.session(one.sessionId)));
        expect(waiting.some((session) => session.status !== 'ended')).toBe(true);
        const ends = await Promise.all(narrow.map((one) => stack.waitForEnd(one.sessionId)));
        const outcomes = ends.map((session) => session.outcome);
        expect(outcomes).toContain('succeeded');
        expect(outcomes).toContain('expired');
        const runs = (await Promise.all(narrow.map((one) => stack.events(one.sessionId)))).map((events) => ({
          from: Date.parse(events.find((event) => event.type === 'run.started')?.recorded_at ?? ''),
          to: Date.parse(events.find((event) => event.type === 'session.final-response')?.recorded_at ?? ''),
        }));
        const ran = runs.filter((run) => !Number.isNaN(run.from)).sort((a, b) => a.from - b.from);
        for (const [n, run] of ran.entries()) {
          if (n > 0) expect(run.from).toBeGreaterThanOrEqual(ran[n - 1]?.to ?? 0);
        }
      },
    );
  });
}
