import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
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

let sink: Sink;
let model: ModelServer;

beforeEach(async () => {
  [sink, model] = await Promise.all([startSink(), startModelServer()]);
  model.behave((request) => say(`answer to ${request.input}`, 100));
});
afterEach(() => Promise.all([sink.stop(), model.stop()]));

/** Invariant the-bus-is-disposable. `lose` is called while a part of the sessions has ended and the rest is under way. */
async function allAnsweredOnceThough(lose: (stack: TestStack) => Promise<void>): Promise<void> {
  const config = testConfig({
    sinkUrl: sink.url,
    modelUrl: model.baseUrl,
    agent: { max_concurrency: PLACES },
  });
  await withTestStack({ config }, async (stack) => {
    const texts = Array.from({ length: SESSIONS }, (_, n) => `session ${n}`);
    const posted = await Promise.all(texts.map((text) => stack.post({ body: { text } })));
    expect(posted.map(({ status }) => status)).toEqual(texts.map(() => 202));
    await eventually(() => sink.finalCounts().size >= SESSIONS / 10, { describe: 'some are answered' });
    expect(sink.finalCounts().size).toBeLessThan(SESSIONS / 2);

    await lose(stack);

    await eventually(() => sink.finalCounts().size === SESSIONS, {
      deadlineMs: 45_000,
      describe: () => `all are answered; ${sink.finalCounts().size} are`,
    });
    const sessions = await Promise.all(
      posted.map(({ sessionId }) => stack.waitForEnd(sessionId, { settled: true })),
    );
    expect(sessions.filter((session) => session.outcome !== 'succeeded')).toEqual([]);
    // Each exactly once, and each its own.
    expect(posted.map(({ sessionId }) => sink.answersOf(sessionId))).toEqual(
      texts.map((text) => [`answer to ${text}`]),
    );
    expect(model.requests).toHaveLength(SESSIONS);
  });
}

describe('all JetStream state is lost while 200 sessions are under way', () => {
  it('by deleting the stream: all end, and the sink has each answer once', async () => {
    await allAnsweredOnceThough((stack) => deleteHintStream(stack.natsUrl));
  });

  it('by killing the server (-9) and deleting its store: all end, and the sink has each answer once', async () => {
    await allAnsweredOnceThough(async (stack) => {
      const nats = stack.kill('nats');
      await rm(join(stack.dataDir, 'nats'), { recursive: true, force: true });
      await stack.restarted('nats', nats);
    });
  });
});
