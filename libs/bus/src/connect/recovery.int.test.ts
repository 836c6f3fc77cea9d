import { STREAM_NAME } from '@angelia/contracts';
import { eventually } from '@angelia/testkit';
import { pause } from '@angelia/waiting';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { busOn, DURABLE, outgoing, publishUntilTaken, recordingHandler, TYPE } from '../testing/fixture.ts';
import { NatsServer } from '../testing/nats-server.ts';
import type { Bus } from '../types.ts';

async function hintArrives(
  bus: Bus,
  recorded: ReturnType<typeof recordingHandler>,
): Promise<{ streamWasRecreated: boolean }> {
  const hint = outgoing();
  const published = await publishUntilTaken(bus, [outgoing(), hint]);
  await eventually(() => recorded.streams().includes(hint.stream_id), {
    describe: 'the hint is consumed',
  });
  return published;
}

describe('a consumption goes on by itself', () => {
  let server: NatsServer;
  let bus: Bus;
  let recorded: ReturnType<typeof recordingHandler>;

  beforeAll(async () => {
    server = await NatsServer.start();
  });
  afterAll(() => server.dispose());

  beforeEach(async () => {
    bus = busOn(server);
    recorded = recordingHandler();
    bus.consume({ durable: DURABLE, type: TYPE, concurrency: 8, handler: recorded.handler });
    await arrives();
  });
  afterEach(() => bus.close());

  const arrives = () => hintArrives(bus, recorded);

  it('after a restart of the server', async () => {
    await server.stop();
    await server.start();
    expect(await arrives()).toEqual({ streamWasRecreated: false });
  });

  it('after a crash of the server', async () => {
    await server.kill();
    await server.start();
    expect(await arrives()).toEqual({ streamWasRecreated: false });
  });

  it('after its durable was deleted, without going through the whole stream again', async () => {
    await server.asOperator((jsm) => jsm.consumers.delete(STREAM_NAME, DURABLE));
    expect(await arrives()).toEqual({ streamWasRecreated: false });
    const config = await server.asOperator(
      async (jsm) => (await jsm.consumers.info(STREAM_NAME, DURABLE)).config,
    );
    expect(config.deliver_policy).toBe('by_start_time');
  });

  it('after the stream was deleted, and tells the publisher', async () => {
    await server.asOperator((jsm) => jsm.streams.delete(STREAM_NAME));
    expect(await arrives()).toEqual({ streamWasRecreated: true });
  });

  it('after the stream was deleted while nothing is published, and reports that it was recreated', async () => {
    let recreated = 0;
    bus.onStreamRecreated(() => recreated++);
    await server.asOperator((jsm) => jsm.streams.delete(STREAM_NAME));
    await eventually(() => recreated > 0);
    await arrives();
  });

  it('after the store was deleted under a stopped server', async () => {
    await server.stop();
    await server.wipe();
    await server.start();
    expect(await arrives()).toEqual({ streamWasRecreated: true });
  });

  it('after the store was deleted under a crashed server', async () => {
    await server.kill();
    await server.wipe();
    await server.start();
    expect(await arrives()).toEqual({ streamWasRecreated: true });
  });
});

// On servers of their own and beside the others, because they only wait.
describe('a frozen server', () => {
  /** Calls `test` with a consumption that has had a hint. */
  async function consuming(
    test: (server: NatsServer, bus: Bus, arrives: () => Promise<unknown>) => Promise<void>,
  ): Promise<void> {
    const server = await NatsServer.start();
    const bus = busOn(server);
    const recorded = recordingHandler();
    try {
      bus.consume({ durable: DURABLE, type: TYPE, concurrency: 8, handler: recorded.handler });
      const arrives = () => hintArrives(bus, recorded);
      await arrives();
      await test(server, bus, arrives);
    } finally {
      await bus.close();
      await server.dispose();
    }
  }

  it.concurrent('for a moment: a consumption goes on by itself', () =>
    consuming(async (server, _bus, arrives) => {
      server.freeze();
      // Longer than the silence after which a pull subscription ends.
      await pause(8_000);
      server.thaw();
      await arrives();
    }));

  it.concurrent('until the bus gave the connection up: a consumption goes on by itself', () =>
    consuming(async (server, bus, arrives) => {
      server.freeze();
      fillTheSocket(bus);
      await eventually(() => !bus.connected);
      server.thaw();
      await arrives();
    }));

  it.concurrent('that reads nothing: closing ends in time', () =>
    consuming(async (server, bus) => {
      server.freeze();
      fillTheSocket(bus);
      await bus.close();
    }));
});

/** A frozen server whose socket is full is another case: the library waits for the socket to drain before it closes it. */
function fillTheSocket(bus: Bus): void {
  const payload = 'x'.repeat(64 * 1024);
  for (let i = 0; i < 200; i++) bus.ping('angelia.test.ballast', payload);
}

describe('a late verdict', () => {
  it('does not ack the message with the same sequence in a recreated stream', async () => {
    const server = await NatsServer.start();
    const bus = busOn(server);
    const gates = { before: Promise.withResolvers<void>(), after: Promise.withResolvers<void>() };
    const started: string[] = [];
    try {
      const consumption = bus.consume({
        durable: DURABLE,
        type: TYPE,
        concurrency: 2,
        handler: async ({ stream_id }) => {
          started.push(stream_id);
          await gates[stream_id as keyof typeof gates].promise;
          return 'done';
        },
      });
      await publishUntilTaken(bus, [outgoing('before')]);
      await eventually(() => started.includes('before'));
      await server.asOperator((jsm) => jsm.streams.delete(STREAM_NAME));
      await publishUntilTaken(bus, [outgoing('after')]);
      await eventually(() => started.includes('after'));
      gates.before.resolve();
      await eventually(() => consumption.inFlight === 1);
      // The answer comes after everything that the verdict sent on the same connection.
      await bus.publishHints([outgoing('other', { type: 'session.ended' })]);
      expect(await server.unsettled(DURABLE)).toBe(1);
      gates.after.resolve();
      await eventually(async () => (await server.unsettled(DURABLE)) === 0);
    } finally {
      gates.before.resolve();
      gates.after.resolve();
      await bus.close();
      await server.dispose();
    }
  });
});

describe('a bus without a server', () => {
  it('accepts a consumption at once and consumes as soon as the server is up', async () => {
    const server = await NatsServer.prepare();
    const bus = busOn(server);
    try {
      const recorded = recordingHandler();
      const consumption = bus.consume({
        durable: DURABLE,
        type: TYPE,
        concurrency: 2,
        handler: recorded.handler,
      });
      expect(consumption.active).toBe(false);
      await expect(bus.publishHints([outgoing()])).rejects.toMatchObject({
        code: 'bus_unavailable',
        retryable: true,
      });
      await server.start();
      await publishUntilTaken(bus, [outgoing('late')]);
      await eventually(() => recorded.streams().includes('late'));
      expect(consumption.active).toBe(true);
    } finally {
      await bus.close();
      await server.dispose();
    }
  });

  it('closes at once', async () => {
    const server = await NatsServer.prepare();
    const bus = busOn(server);
    bus.consume({ durable: DURABLE, type: TYPE, concurrency: 2, handler: async () => 'done' });
    await bus.close();
    await server.dispose();
  });
});

describe('a store that was deleted under the running server', () => {
  it('is made again when the server can no longer store or hand out hints', async () => {
    const server = await NatsServer.start();
    const bus = busOn(server);
    try {
      let recreated = 0;
      await bus.whenReady();
      await bus.provision();
      bus.onStreamRecreated(() => recreated++);
      // Before its first message the stream has no open file: from now on the server can neither write nor read.
      await server.wipe();
      const recorded = recordingHandler();
      bus.consume({ durable: DURABLE, type: TYPE, concurrency: 8, handler: recorded.handler });
      // What was published before the repair is lost with the store. The sweep goes on hinting, and so does this test.
      await eventually(
        async () => {
          await publishUntilTaken(bus, [outgoing()]);
          return recorded.streams().length > 0;
        },
        { everyMs: 250, describe: 'a hint is consumed' },
      );
      expect(recreated).toBeGreaterThan(0);
    } finally {
      await bus.close();
      await server.dispose();
    }
  });
});
