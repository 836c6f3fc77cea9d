import { NatsCluster } from '@angelia/bus/testing/cluster';
import {
  eventually,
  type PostAnswer,
  type Sink,
  startSink,
  startTestStack,
  TEST_SINK_SECRET,
  type TestStack,
  testConfig,
} from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

// The whole stack on three real nats-servers that lose each other. Each test continues where the one before it ended.

const REPLICAS = 3;
const BURST = 15;
/** A server of 2.9 waits 4 to 9 s before it elects another leader. */
const PATIENCE_MS = 45_000;

let cluster: NatsCluster;
let sink: Sink;
let stack: TestStack;
let created: string;
const posts: PostAnswer[] = [];

beforeAll(async () => {
  [cluster, sink] = await Promise.all([NatsCluster.prepare(), startSink({ secret: TEST_SINK_SECRET })]);
  // Started together: the services wait until the servers have found each other.
  [stack] = await Promise.all([
    startTestStack({
      config: testConfig({ sinkUrl: sink.url, extra: { nats: { replicas: REPLICAS } } }),
      env: { NATS_URL: cluster.url },
    }),
    cluster.start(),
  ]);
});

afterAll(async () => {
  await stack?.stop();
  await Promise.all([cluster?.dispose(), sink?.stop()]);
});

async function post(count: number): Promise<void> {
  const made = await Promise.all(
    Array.from({ length: count }, (_, n) => stack.post({ body: { text: `${posts.length + n}` } })),
  );
  expect(made.map(({ status }) => status)).toEqual(made.map(() => 202));
  posts.push(...made);
}

/** Every session accepted so far has ended and was delivered once. */
async function allDelivered(): Promise<void> {
  for (const { sessionId } of posts) {
    await stack.waitForEnd(sessionId, { settled: true });
  }
  const counts = sink.finalCounts();
  expect(posts.filter(({ sessionId }) => counts.get(sessionId) !== 1)).toEqual([]);
}

/** The stream has a leader and is still the same stream: nobody created it again. */
async function sameStream(): Promise<void> {
  await cluster.streamLeader();
  // Each server of 2.9 has its own creation time, some milliseconds apart. A new stream would be seconds younger.
  expect(Math.abs(Date.parse((await cluster.stream()).created) - Date.parse(created))).toBeLessThan(1_000);
}

const ready = (name: string) => eventually(() => stack.ready(name));

describe('on a cluster of three NATS servers', () => {
  it('the stream and every consumer have three replicas', async () => {
    const stream = await cluster.stream();
    created = stream.created;
    expect(stream.config.num_replicas).toBe(REPLICAS);
    await eventually(async () => {
      const consumers = await cluster.consumers();
      const members = consumers.map(({ cluster: group }) => (group?.replicas?.length ?? 0) + 1);
      const led = consumers.every(({ cluster: group }) => group?.leader !== undefined);
      return led && members.length > 5 && members.every((count) => count === REPLICAS);
    });
  });

  it(
    'work continues when the leader of the stream is killed, and when it comes back',
    async () => {
      await post(BURST);
      const leader = await cluster.streamLeader();
      await leader.kill();
      await post(BURST);
      await allDelivered();
      await sameStream();
      await leader.start();
      await cluster.inSync();
      await post(BURST);
      await allDelivered();
    },
    2 * PATIENCE_MS,
  );

  it(
    'without a majority webhooks are accepted and the services say what is wrong; when it is back all work is done',
    async () => {
      const first = await cluster.streamLeader();
      const [second] = cluster.servers.filter((server) => server !== first);
      await first.kill();
      await post(BURST);
      await second?.kill();
      await post(BURST);
      for (const name of ['agent-runner', 'delivery', 'process-watcher']) {
        await eventually(async () => {
          const { ready: isReady, said } = await stack.readiness(name);
          return !isReady && /"nats":\{"ok":false,"reason":"[^"]+/.test(said);
        });
      }
      expect(await stack.ready('ingress')).toBe(true);
      await post(BURST);
      await Promise.all([first.start(), second?.start()]);
      await allDelivered();
      await sameStream();
      for (const name of ['agent-runner', 'delivery', 'process-watcher']) await ready(name);
    },
    2 * PATIENCE_MS,
  );
});
