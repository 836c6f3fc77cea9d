import { STREAM_NAME } from '@angelia/contracts';
import { eventually } from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { connectBus } from '../bus.ts';
import {
  DURABLE,
  outgoing,
  publishUntilTaken,
  RecordingLogger,
  recordingHandler,
  TYPE,
} from '../testing/fixture.ts';
import { NatsCluster } from '../testing/nats-cluster.ts';
import type { Bus, BusOptions } from '../types.ts';

// What tests/e2e/nats-cluster cannot see from outside. Each test goes on where the previous one ended.

let cluster: NatsCluster;
const logger = new RecordingLogger();
const recorded = recordingHandler();
const opened: Bus[] = [];

beforeAll(async () => {
  cluster = await NatsCluster.start();
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((bus) => bus.close()));
});
afterAll(() => cluster?.dispose());

function open(replicas: number, more: Partial<BusOptions> = {}): Bus {
  const bus = connectBus({ url: cluster.url, name: `test-${replicas}`, replicas, logger, ...more });
  bus.consume({ durable: DURABLE, type: TYPE, concurrency: 8, handler: recorded.handler });
  opened.push(bus);
  return bus;
}

async function arrives(bus: Bus): Promise<void> {
  const hint = outgoing();
  await publishUntilTaken(bus, [outgoing(), hint]);
  await eventually(() => recorded.streams().includes(hint.stream_id), { describe: 'the hint is consumed' });
}

/** Each server of 2.9 has its own time for it, some milliseconds apart; one that was made again is seconds younger. */
function expectSameStream(created: string, before: string): void {
  expect(Math.abs(Date.parse(created) - Date.parse(before))).toBeLessThan(1_000);
}

describe('on a cluster', () => {
  it('nats.replicas from 1 to 3 changes the stream and its consumers in place', async () => {
    const alone = open(1);
    await arrives(alone);
    const before = await cluster.stream();
    expect(before.config.num_replicas).toBe(1);
    await alone.close();

    await arrives(open(3));
    await cluster.inSync();
    const after = await cluster.stream();
    expect(after.config.num_replicas).toBe(3);
    expectSameStream(after.created, before.created);
    expect(after.state.messages).toBeGreaterThan(before.state.messages);
    await eventually(async () => {
      const [consumer] = await cluster.consumers();
      return consumer?.cluster?.leader !== undefined && consumer.cluster.replicas?.length === 2;
    });
  });

  it('a consumer without a leader for too long is made again, the stream is not', async () => {
    const bus = open(3, { leaderlessMs: 1_000 });
    await arrives(bus);
    const { created } = await cluster.stream();
    // As an operator may have set it: only one server holds it.
    await cluster.asOperator((jsm) => jsm.consumers.update(STREAM_NAME, DURABLE, { num_replicas: 1 }));
    const holder = await eventually(async () => {
      const [consumer] = await cluster.consumers();
      return consumer?.cluster?.replicas === undefined && consumer?.cluster?.leader;
    });
    await cluster.member(holder).kill();
    await arrives(bus);
    expectSameStream((await cluster.stream()).created, created);
    expect((await cluster.consumers())[0]?.cluster?.replicas).toHaveLength(2);
    await cluster.member(holder).start();
    await cluster.inSync();
  });

  it('that lost its majority, the bus reports it, makes nothing again, and goes on by itself', async () => {
    const [one, two, left] = cluster.servers;
    // Its own connection stays: the remaining server answers, but can do nothing.
    const bus = open(3, { url: left?.url ?? '' });
    await arrives(bus);
    await eventually(async () => (await bus.problem()) === null);
    const { created } = await cluster.stream();
    await Promise.all([one?.kill(), two?.kill()]);

    await eventually(async () => /no leader/.test((await bus.problem()) ?? ''));
    await expect(bus.publishHints([outgoing()])).rejects.toMatchObject({ retryable: true });
    // A bus that starts meanwhile waits, as for a server that is away.
    const late = open(3);
    await expect(late.provision()).rejects.toMatchObject({ retryable: true });

    await Promise.all([one?.start(), two?.start()]);
    await arrives(bus);
    await arrives(late);
    await eventually(async () => (await late.problem()) === null);
    expectSameStream((await cluster.stream()).created, created);
    expect(logger.lines.filter((line) => line.includes('stream; creating it again'))).toEqual([]);
  });
});
