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
  type TestStack,
  testConfig,
  withTestStack,
} from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

/** Three seconds (SHORT_TIMING): a call of four leases is as slow for it as one of 80 s is in production. */
const LEASE_MS = 3_000;

let sink: Sink;
let model: ModelServer;

beforeEach(async () => {
  [sink, model] = await Promise.all([startSink({ secret: TEST_SINK_SECRET }), startModelServer()]);
});
afterEach(async () => {
  expect(model.problems).toEqual([]);
  await Promise.all([sink.stop(), model.stop()]);
});

const twoRunners = (body: (stack: TestStack) => Promise<void>) =>
  withTestStack(
    { config: testConfig({ sinkUrl: sink.url, modelUrl: model.baseUrl }), replicas: 'agent-runner=2' },
    body,
  );
const of = (events: readonly EventView[], type: string) => events.filter((event) => event.type === type);
/** The instance that appended the last run.started: `agent-runner` or `agent-runner-2`. */
const runnerOf = (events: readonly EventView[]) =>
  String(of(events, 'run.started').at(-1)?.data.runner).split('#')[0] ?? '';

async function underWay(stack: TestStack, text: string): Promise<{ id: string; runner: string }> {
  const { status, sessionId: id } = await stack.post({ body: { text } });
  expect(status).toBe(202);
  await eventually(() => model.requests.some((request) => request.input === text), {
    describe: 'the model is asked',
  });
  return { id, runner: runnerOf(await stack.events(id)) };
}

describe('a runner in a model call', () => {
  it('that is only slow is not taken over, also while the JetStream store is deleted', async () => {
    await twoRunners(async (stack) => {
      model.next(say('slow answer', 4 * LEASE_MS));
      const { id, runner } = await underWay(stack, 'slow');
      await deleteHintStream(stack.natsUrl);
      const nats = stack.kill('nats');
      await rm(join(stack.dataDir, 'nats'), { recursive: true, force: true });
      await stack.restarted('nats', nats);
      await stack.waitForEnd(id, { settled: true });
      const events = await stack.events(id);
      expect(of(events, 'run.started')).toHaveLength(1);
      expect(runnerOf(events)).toBe(runner);
      expect(model.requests).toHaveLength(1);
      expect(sink.answersOf(id)).toEqual(['slow answer']);
    });
  });

  it('that is told to stop hands over what it cannot finish, and another goes on at once', async () => {
    await twoRunners(async (stack) => {
      model.next(say('never seen', 60_000));
      const { id, runner } = await underWay(stack, 'work');
      await stack.hold(runner);
      await stack.waitForEnd(id, { settled: true });
      const events = await stack.events(id);
      expect(of(events, 'run.interrupted').map((event) => event.data.reason)).toEqual(['drain']);
      expect(of(events, 'run.started').map((event) => event.data.attempt)).toEqual([1, 1]);
      expect(sink.answersOf(id)).toEqual(['answer to: work']);
    });
  });
});
