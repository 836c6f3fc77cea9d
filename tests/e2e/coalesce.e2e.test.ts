import {
  eventually,
  type ModelServer,
  type Sink,
  say,
  startModelServer,
  startSink,
  TEST_SINK_SECRET,
  type TestStack,
  testConfig,
  testRoute,
  withTestStack,
} from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

/** Longer than services on a busy machine take to start again. */
const WINDOW_SECONDS = 8;

let sink: Sink;
let model: ModelServer;

beforeEach(async () => {
  [sink, model] = await Promise.all([startSink({ secret: TEST_SINK_SECRET }), startModelServer()]);
});
afterEach(async () => {
  expect(model.problems).toEqual([]);
  await Promise.all([sink.stop(), model.stop()]);
});

const stackWith = (body: (stack: TestStack) => Promise<void>) =>
  withTestStack(
    {
      config: testConfig({
        sinkUrl: sink.url,
        modelUrl: model.baseUrl,
        routes: {
          alerts: testRoute(sink.url, {
            coalesce: { key: '{key}', window_seconds: WINDOW_SECONDS, max_wait_seconds: WINDOW_SECONDS + 3 },
          }),
          issues: testRoute(sink.url, { session_key: '{key}', on_busy: 'interrupt' }),
          narrow: testRoute(sink.url, { max_concurrency: 1, max_queue_seconds: 3 }),
        },
      }),
      replicas: 'agent-runner=2',
    },
    body,
  );

describe('webhooks that belong together', () => {
  it('are one session, one run and one answer, although ingress and runners are killed (-9) in the window', async () => {
    await stackWith(async (stack) => {
      const post = (text: string) =>
        stack.post({ route: 'alerts', body: { text, key: 'disk' }, deliveryId: text });
      const first = await post('one');
      expect(first.status).toBe(202);
      expect((await post('two')).body.status).toBe('coalesced');
      const killed = ['ingress', 'agent-runner', 'agent-runner-2'].map(
        (name) => [name, stack.kill(name)] as const,
      );
      await Promise.all(killed.map(([name, pid]) => stack.restarted(name, pid)));
      const third = await eventually(async () => {
        const answer = await post('three').catch(() => null);
        return answer !== null && answer.status < 500 && answer;
      });
      expect(third.sessionId).toBe(first.sessionId);
      expect((await post('two')).body).toMatchObject({ status: 'duplicate', session_id: first.sessionId });
      await stack.waitForEnd(first.sessionId, { settled: true });
      const events = await stack.events(first.sessionId);
      expect(events.filter((event) => event.type === 'run.started')).toHaveLength(1);
      expect(model.requests).toHaveLength(1);
      expect(model.requests[0]?.input).toBe(
        'three\n\n[This replaces 2 earlier webhooks that arrived shortly before.]',
      );
      expect(sink.answersOf(first.sessionId)).toHaveLength(1);
      const started = Date.parse(events.find((event) => event.type === 'run.started')?.recorded_at ?? '');
      const created = Date.parse(events[0]?.recorded_at ?? '');
      // Not before the window of the last one.
      expect(started - created).toBeGreaterThan(WINDOW_SECONDS * 1_000);
      const next = await post('four');
      expect(next.body.status).toBe('accepted');
      expect(next.sessionId).not.toBe(first.sessionId);
    });
  });

  it('of a session_key interrupt the run under way, wherever it is, and go on in the continuation after the end', async () => {
    await stackWith(async (stack) => {
      const post = (text: string) =>
        stack.post({ route: 'issues', body: { text, key: '7' }, deliveryId: text });
      model.next(say('never seen', 60_000));
      const { sessionId } = await post('old');
      await eventually(() => model.requests.length === 1);
      expect((await post('new')).sessionId).toBe(sessionId);
      // Long before the answer that nobody wants any more.
      await stack.waitForEnd(sessionId, { settled: true });
      expect(sink.answersOf(sessionId)).toEqual(['answer to: new']);
      const later = await post('later');
      const session = await stack.waitForEnd(later.sessionId, { settled: true });
      expect(session.continues).toBe(sessionId);
      expect(model.requests.at(-1)?.body.messages.map((row) => row.content)).toEqual([
        expect.anything(),
        'old',
        expect.stringContaining('cancelled'),
        'new',
        'answer to: new',
        'later',
      ]);
    });
  });
});

describe('a route with max_concurrency and max_queue_seconds', () => {
  it('runs one at a time over two runners, starves no other route, and expires what waited too long', async () => {
    await stackWith(async (stack) => {
      model.behave((request) =>
        say(`answer to: ${request.input}`, request.input.startsWith('slow') ? 2_200 : 0),
      );
      const slow = [];
      for (let n = 0; n < 4; n += 1)
        slow.push(await stack.post({ route: 'narrow', body: { text: `slow ${n}` } }));
      const quick = await stack.post({ body: { text: 'quick' } });
      await stack.waitForEnd(quick.sessionId);
      const waiting = await Promise.all(slow.map((one) => stack.session(one.sessionId)));
      expect(waiting.some((session) => session.status !== 'ended')).toBe(true);
      const ends = await Promise.all(slow.map((one) => stack.waitForEnd(one.sessionId)));
      const outcomes = ends.map((session) => session.outcome);
      expect(outcomes).toContain('succeeded');
      expect(outcomes).toContain('expired');
      const runs = (await Promise.all(slow.map((one) => stack.events(one.sessionId)))).map((events) => ({
        from: Date.parse(events.find((event) => event.type === 'run.started')?.recorded_at ?? ''),
        to: Date.parse(events.find((event) => event.type === 'session.final-response')?.recorded_at ?? ''),
      }));
      const ran = runs.filter((run) => !Number.isNaN(run.from)).sort((a, b) => a.from - b.from);
      for (const [n, run] of ran.entries()) {
        if (n > 0) expect(run.from).toBeGreaterThanOrEqual(ran[n - 1]?.to ?? 0);
      }
    });
  });
});
