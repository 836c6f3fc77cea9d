import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  countHints,
  deleteHintStream,
  eventually,
  type ModelServer,
  type Sink,
  say,
  startModelServer,
  startSink,
  type TestStack,
  testConfig,
  withTestStack,
} from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

const SESSIONS = 200;
/** Few places, so that at any time some sessions run, some wait in a runner, and the most are left to the queue view. */
const PLACES = 8;

/** Longer than the server keeps an idle block's messages in memory. */
const QUIET_MS = 13_000;

let sink: Sink;
let model: ModelServer;

beforeEach(async () => {
  [sink, model] = await Promise.all([startSink(), startModelServer()]);
  model.behave((request) => say(`answer to ${request.input}`, 100));
});
afterEach(() => Promise.all([sink.stop(), model.stop()]));

const withStack = (body: (stack: TestStack) => Promise<void>) =>
  withTestStack(
    {
      config: testConfig({ sinkUrl: sink.url, modelUrl: model.baseUrl, agent: { max_concurrency: PLACES } }),
    },
    body,
  );

interface Posted {
  readonly id: string;
  readonly text: string;
}

function post(stack: TestStack, from: number, to: number): Promise<Posted[]> {
  return Promise.all(
    Array.from({ length: to - from }, async (_, n) => {
      const text = `session ${from + n}`;
      const { status, sessionId: id } = await stack.post({ body: { text } });
      expect(status).toBe(202);
      return { id, text };
    }),
  );
}

const someAreAnswered = () =>
  eventually(() => sink.finalCounts().size >= SESSIONS / 10, { describe: 'some are answered' });

async function eachIsAnsweredOnce(stack: TestStack, posted: readonly Posted[]): Promise<void> {
  await eventually(() => sink.finalCounts().size === posted.length, {
    deadlineMs: 45_000,
    describe: () => `all are answered; ${sink.finalCounts().size} are`,
  });
  const sessions = await Promise.all(posted.map(({ id }) => stack.waitForEnd(id, { settled: true })));
  expect(sessions.filter((session) => session.outcome !== 'succeeded')).toEqual([]);
  // Each exactly once, and each its own.
  expect(posted.map(({ id }) => sink.answersOf(id))).toEqual(posted.map(({ text }) => [`answer to ${text}`]));
  expect(model.requests).toHaveLength(posted.length);
}

/** Invariant the-bus-is-disposable. */
describe('all JetStream state is lost while 200 sessions are under way', () => {
  it('by deleting the stream: all end, and the sink has each answer once', async () => {
    await withStack(async (stack) => {
      const posted = await post(stack, 0, SESSIONS);
      await someAreAnswered();
      await deleteHintStream(stack.natsUrl);
      expect(sink.finalCounts().size).toBeLessThan(SESSIONS);
      await eachIsAnsweredOnce(stack, posted);
    });
  });

  it('by killing the server (-9) and deleting its store: all end, and the sink has each answer once', async () => {
    await withStack(async (stack) => {
      const posted = await post(stack, 0, SESSIONS);
      await someAreAnswered();
      const nats = stack.kill('nats');
      await rm(join(stack.dataDir, 'nats'), { recursive: true, force: true });
      expect(sink.finalCounts().size).toBeLessThan(SESSIONS);
      await stack.restarted('nats', nats);
      await eachIsAnsweredOnce(stack, posted);
    });
  });

  it('with hints that nobody had read, and such as a runner had read that is gone: the same', async () => {
    await withStack(async (stack) => {
      const first = await post(stack, 0, SESSIONS / 2);
      await someAreAnswered();
      // First nobody delivers, so that answers pile up; then nobody runs, and what waited in the runner is forgotten.
      await stack.hold('delivery');
      await stack.hold('agent-runner');
      const before = await countHints(stack.natsUrl);
      const second = await post(stack, SESSIONS / 2, SESSIONS);
      await eventually(async () => (await countHints(stack.natsUrl)) >= before + second.length, {
        describe: 'the hints of the second half are in the stream',
      });
      await deleteHintStream(stack.natsUrl);
      await Promise.all([stack.resume('agent-runner'), stack.resume('delivery')]);
      await eachIsAnsweredOnce(stack, [...first, ...second]);
    });
  });

  it('by deleting the store under the running server: what comes after a quiet time is answered too', async () => {
    await withStack(async (stack) => {
      const first = await post(stack, 0, 10);
      await eventually(() => sink.finalCounts().size === first.length, {
        describe: 'the first are answered',
      });
      await rm(join(stack.dataDir, 'nats'), { recursive: true, force: true });
      const nats = stack.pid('nats');
      // As long as it has a block of messages in memory, the server does not notice; it drops it after some 10 s of quiet.
      await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
      const second = await post(stack, 10, 20);
      await eachIsAnsweredOnce(stack, [...first, ...second]);
      expect(stack.pid('nats')).toBe(nats);
    });
  });
});
