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
  testRoute,
} from '@angelia/testkit';
import { pause } from '@angelia/waiting';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { addToStack, modelAt, stack } from '../shared-stack.ts';

const SESSIONS = 100;
/** Little capacity: at any time some sessions run, some wait in a runner, and most wait in the queue view. */
const PLACES = 8;

/** Longer than the server keeps the messages of an idle block in memory. */
const QUIET_MS = 13_000;

let sink: Sink;
let model: ModelServer;

interface Posted {
  readonly id: string;
  readonly text: string;
}

function post(what: string, count: number): Promise<Posted[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const text = `${what} ${n}`;
      const { status, sessionId: id } = await stack.post({ route: 'few-places', body: { text } });
      expect(status).toBe(202);
      return { id, text };
    }),
  );
}

const answered = (posted: readonly Posted[]) =>
  posted.filter(({ id }) => sink.answersOf(id).length > 0).length;
const someAreAnswered = (posted: readonly Posted[]) =>
  eventually(() => answered(posted) >= SESSIONS / 10, { describe: 'some are answered' });

/** The model answers this many requests and holds back the others until the returned function is called. */
function answersOnly(count: number): () => void {
  const rest = Promise.withResolvers<void>();
  let asked = 0;
  model.behave(async ({ input }) => {
    asked += 1;
    if (asked > count) await rest.promise;
    return say(`answer to ${input}`, 100);
  });
  return rest.resolve;
}

async function eachIsAnsweredOnce(posted: readonly Posted[]): Promise<void> {
  await eventually(() => answered(posted) === posted.length, {
    describe: () => `all are answered; ${answered(posted)} are`,
  });
  const sessions = await Promise.all(posted.map(({ id }) => stack.waitForEnd(id, { settled: true })));
  expect(sessions.filter((session) => session.outcome !== 'succeeded')).toEqual([]);
  // Each session has exactly its own answer, once.
  expect(posted.map(({ id }) => sink.answersOf(id))).toEqual(posted.map(({ text }) => [`answer to ${text}`]));
  const texts = new Set(posted.map(({ text }) => text));
  expect(model.requests.filter(({ input }) => texts.has(input))).toHaveLength(posted.length);
}

export function lostBus(): void {
  addToStack(async () => {
    [sink, model] = await Promise.all([startSink(), startModelServer()]);
    return {
      models: { quick: modelAt(model) },
      agents: { few_places: { kind: 'llm', model: 'quick', max_concurrency: PLACES } },
      routes: { 'few-places': testRoute(sink.url, { agent: 'few_places' }) },
    };
  });

  afterAll(() => Promise.all([sink?.stop(), model?.stop()]));

  /** Invariant the-bus-is-disposable. */
  describe('all JetStream state is lost while 100 sessions are in flight', () => {
    beforeEach(() => model.behave(({ input }) => say(`answer to ${input}`, 100)));

    it('by deleting the stream: all end, and the sink has each answer once', async () => {
      const answerTheRest = answersOnly(SESSIONS / 5);
      const posted = await post('deleted stream', SESSIONS);
      await someAreAnswered(posted);
      await deleteHintStream(stack.natsUrl);
      answerTheRest();
      await eachIsAnsweredOnce(posted);
    });

    it('by killing the server (-9) and deleting its store: all end, and the sink has each answer once', async () => {
      const answerTheRest = answersOnly(SESSIONS / 5);
      const posted = await post('killed server', SESSIONS);
      await someAreAnswered(posted);
      const nats = stack.kill('nats');
      await rm(join(stack.dataDir, 'nats'), { recursive: true, force: true, maxRetries: 10 });
      answerTheRest();
      await stack.restarted('nats', nats);
      await eachIsAnsweredOnce(posted);
    });

    it('with hints that nobody had read, and hints that only a killed runner had read: the same', async () => {
      const first = await post('read hint', SESSIONS / 2);
      await someAreAnswered(first);
      // First delivery is down, so that answers queue up. Then the runners are down, and sessions that waited in them are forgotten.
      await stack.hold('delivery');
      await stack.hold('agent-runner');
      const before = await countHints(stack.natsUrl);
      const second = await post('unread hint', SESSIONS / 2);
      await eventually(async () => (await countHints(stack.natsUrl)) >= before + second.length, {
        describe: 'the hints of the second half are in the stream',
      });
      await deleteHintStream(stack.natsUrl);
      await Promise.all([stack.resume('agent-runner'), stack.resume('delivery')]);
      await eachIsAnsweredOnce([...first, ...second]);
    });

    it('by deleting the store under the running server: webhooks after a quiet time are answered as well', async () => {
      const first = await post('before the quiet', 10);
      await eachIsAnsweredOnce(first);
      await rm(join(stack.dataDir, 'nats'), { recursive: true, force: true, maxRetries: 10 });
      const nats = stack.pid('nats');
      // The server does not notice while it has a block of messages in memory. It drops the block after about 10 s without traffic.
      await pause(QUIET_MS);
      const second = await post('after the quiet', 10);
      await eachIsAnsweredOnce([...first, ...second]);
      expect(stack.pid('nats')).toBe(nats);
      // With a new store, for the next test on this stack.
      await stack.restarted('nats', stack.kill('nats'));
    });
  });
}
