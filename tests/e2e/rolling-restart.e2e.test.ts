import { randomUUID } from 'node:crypto';
import {
  callTool,
  type EventView,
  eventually,
  type ModelRequest,
  type ModelServer,
  type Sink,
  say,
  startModelServer,
  startSink,
  startTestStack,
  TEST_SINK_SECRET,
  type TestStack,
  testConfig,
} from '@angelia/testkit';
import { pause } from '@angelia/waiting';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

// Every service is stopped and started again, one after the other, under load. Users only see some latency.

/** A sender gives up when no ingress takes its webhook for this long. */
const SENDER_GIVES_UP_MS = 60_000;
const EVERY_MS = 60;
/** In flight when the runner is told to stop, and not done by the end of the drain. */
const LONG = ['long 1', 'long 2', 'long 3'];

let sink: Sink;
let model: ModelServer;
let stack: TestStack;

beforeAll(async () => {
  [sink, model] = await Promise.all([startSink({ secret: TEST_SINK_SECRET }), startModelServer()]);
  model.behave(decideStep);
  stack = await startTestStack({
    config: testConfig({
      sinkUrl: sink.url,
      modelUrl: model.baseUrl,
      agent: { toolsets: ['terminal'] },
      // As in production: on a starved machine a run would lose a short lease and be rightly interrupted.
      timing: { lease_seconds: 20 },
    }),
    replicas: 'ingress=2',
    env: { ANGELIA_DRAIN_SECONDS: '2' },
  });
});
afterAll(async () => {
  await stack?.stop();
  await Promise.all([sink?.stop(), model?.stop()]);
});

const isResumed = ({ body }: ModelRequest) => JSON.stringify(body.messages[0]).includes('interrupted');

function decideStep(request: ModelRequest) {
  const { input, results } = request;
  if (input.startsWith('long') && !isResumed(request)) return say('never seen', 120_000);
  if (input.startsWith('work') && results.length === 0) {
    return callTool('terminal', { command: 'sleep 0.5; echo worked' });
  }
  return say(`answer to: ${input}`, 50);
}

interface Sent {
  readonly text: string;
  readonly sessionId: string;
}

/** Posts like a load balancer, to whichever ingress takes it. The id is the same on every try. */
async function send(text: string): Promise<Sent> {
  const deliveryId = randomUUID();
  const begun = performance.now();
  for (let tries = 0; ; tries += 1) {
    const baseUrl = stack.baseUrls[tries % stack.baseUrls.length] ?? '';
    const answer = await stack.post({ baseUrl, deliveryId, body: { text } }).catch(() => null);
    if (answer !== null && answer.status < 300) {
      return { text, sessionId: answer.sessionId };
    }
    // Down, or shutting down. A sender must not get any other answer.
    expect([503, undefined]).toContain(answer?.status);
    if (performance.now() - begun > SENDER_GIVES_UP_MS) throw new Error(`no ingress took ${text}`);
    await pause(20);
  }
}

function load() {
  const sent: Promise<Sent>[] = [];
  let on = true;
  const posting = (async () => {
    for (let n = 1; on; n += 1) {
      sent.push(send(n % 15 === 0 ? `work ${n}` : `quick ${n}`));
      await pause(EVERY_MS);
    }
  })();
  return {
    count: () => sent.length,
    add: (...texts: string[]) => sent.push(...texts.map(send)),
    stop: async (): Promise<Sent[]> => {
      on = false;
      await posting;
      return Promise.all(sent);
    },
  };
}

async function restart(name: string): Promise<void> {
  const pid = stack.kill(name, 'SIGTERM');
  await stack.restarted(name, pid);
  await eventually(() => stack.ready(name).catch(() => false), { describe: `${name} is ready again` });
}

const of = (events: readonly EventView[], type: string) => events.filter((event) => event.type === type);

it('a rolling restart is visible only as latency, and exactly the interrupted runs are resumed', async () => {
  const working = load();
  await eventually(() => sink.received.length > 20);
  await restart('ingress');
  await restart('ingress-2');
  working.add(...LONG);
  await eventually(() => LONG.every((text) => model.requests.some(({ input }) => input === text)));
  await restart('agent-runner');
  await restart('delivery');
  await restart('process-watcher');
  await eventually(() => working.count() > 100);
  const sent = await working.stop();

  expect(new Set(sent.map(({ sessionId }) => sessionId)).size).toBe(sent.length);
  const wrong: unknown[] = [];
  const interrupted: string[] = [];
  for (const { text, sessionId } of sent) {
    const { outcome, deliveries } = await stack.waitForEnd(sessionId, { settled: true });
    const events = await stack.events(sessionId);
    const runs = of(events, 'run.started');
    const handedOver = of(events, 'run.interrupted');
    if (handedOver.length > 0) interrupted.push(text);
    const seen = {
      text,
      outcome,
      dead: deliveries.dead,
      answers: sink.answersOf(sessionId),
      resumed: runs.filter(({ data }) => data.resumed).length,
      runs: runs.length,
      reasons: handedOver.map(({ data }) => data.reason),
    };
    const expected = {
      text,
      outcome: 'succeeded',
      dead: 0,
      answers: [`answer to: ${text}`],
      resumed: handedOver.length,
      runs: handedOver.length + 1,
      reasons: handedOver.map(() => 'drain'),
    };
    if (JSON.stringify(seen) !== JSON.stringify(expected)) wrong.push(seen);
  }
  expect(wrong).toEqual([]);
  // Only the long ones, each once. All others finish in time.
  expect(interrupted.filter((text) => text.startsWith('long')).sort()).toEqual(LONG);
  expect(interrupted.filter((text) => text.startsWith('quick'))).toEqual([]);
  expect(sink.received.filter(({ payload }) => payload.possible_duplicate)).toEqual([]);
  expect(model.problems).toEqual([]);
});
