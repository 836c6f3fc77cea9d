import { createServer, type Server } from 'node:net';
import { STREAM_NAME } from '@angelia/contracts';
import { eventually } from '@angelia/testkit';
import { pause } from '@angelia/waiting';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect } from '@nats-io/transport-node';
import { connectBus } from './bus.ts';
import { busOn, outgoing, publishUntilTaken, RecordingLogger, TRACEPARENT } from './testing/fixture.ts';
import { NatsServer } from './testing/nats-server.ts';
import type { Bus, BusStatus } from './types.ts';

describe('publishing', () => {
  let server: NatsServer;
  let bus: Bus;

  beforeAll(async () => {
    server = await NatsServer.start();
    bus = busOn(server);
    await bus.whenReady();
    await bus.provision();
  });
  afterAll(async () => {
    await bus.close();
    await server.dispose();
  });

  it('a request gets the first answer, and none if nobody has one', async () => {
    const listeners = [
      bus.respond('angelia.test.ask', async () => null),
      bus.respond('angelia.test.ask', async (payload) => (payload === 'you?' ? 'me' : null)),
    ];
    expect(await bus.request('angelia.test.ask', 'you?', 5_000)).toBe('me');
    expect(await bus.request('angelia.test.ask', 'who?', 100)).toBeNull();
    expect(await bus.request('angelia.test.nobody', 'you?', 5_000)).toBeNull();
    for (const stop of listeners) stop();
  });

  const stored = () => server.asOperator(async (jsm) => (await jsm.streams.info(STREAM_NAME)).state.messages);

  it('resolves when all hints are stored, however many', async () => {
    const before = await stored();
    await bus.publishHints(Array.from({ length: 2_345 }, () => outgoing()));
    expect(await stored()).toBe(before + 2_345);
  });

  it('puts message id and trace into the headers, and nothing but the hint into the body', async () => {
    const nc = await connect({ servers: `127.0.0.1:${server.port}` });
    const subscription = nc.subscribe('angelia.evt.>', { max: 1 });
    await nc.flush();
    await bus.publishHints([
      outgoing('stream-1', { version: 3, messageId: 'event-1', traceparent: TRACEPARENT }),
    ]);
    for await (const message of subscription) {
      expect(message.subject).toBe('angelia.evt.session.created.stream-1');
      expect(message.headers?.get('Nats-Msg-Id')).toBe('event-1');
      expect(message.headers?.get('traceparent')).toBe(TRACEPARENT);
      expect(message.string()).toBe(
        `{"stream_id":"stream-1","version":3,"type":"session.created","traceparent":"${TRACEPARENT}"}`,
      );
    }
    await nc.close();
  });

  it('the same event again stores it once, and a new message id stores it again', async () => {
    const before = await stored();
    const hint = outgoing();
    await bus.publishHints([hint]);
    await bus.publishHints([hint]);
    expect(await stored()).toBe(before + 1);
    await bus.publishHints([{ ...hint, messageId: 'fresh' }]);
    expect(await stored()).toBe(before + 2);
  });

  it('refuses a stream id that no consumer would match', async () => {
    await expect(bus.publishHints([outgoing('a.b')])).rejects.toThrow(TypeError);
  });

  it('reports the lag of every durable consumer', async () => {
    const release = Promise.withResolvers<'done'>();
    const consumption = bus.consume({
      durable: 'test-turn_requested',
      type: 'turn.requested',
      concurrency: 1,
      handler: () => release.promise,
    });
    await bus.publishHints([1, 2, 3].map(() => outgoing(undefined, { type: 'turn.requested' })));
    const lag = async () =>
      (await bus.consumerLag()).find(({ durable }) => durable === 'test-turn_requested') ?? false;
    // One is being handled. How many more were prefetched is up to the consumption.
    const held = await eventually(
      async () => {
        const now = await lag();
        return now && now.ackPending > 0 && now;
      },
      { describe: 'a hint in hand' },
    );
    expect(held.pending + held.ackPending).toBe(3);
    release.resolve('done');
    await eventually(
      async () => {
        const now = await lag();
        return now && now.pending + now.ackPending === 0;
      },
      { describe: 'all acked' },
    );
    await consumption.stop();
  });

  it('fails in time with a retryable error when the server is frozen', async () => {
    server.freeze();
    try {
      await expect(bus.publishHints([outgoing()])).rejects.toMatchObject({
        code: 'bus_unavailable',
        retryable: true,
      });
    } finally {
      server.thaw();
    }
    await publishUntilTaken(bus, [outgoing()]);
  });
});

describe('provisioning', () => {
  it('creates the stream once when several services start together, and brings its limits up to date', async () => {
    const server = await NatsServer.start();
    const buses = Array.from({ length: 4 }, () => busOn(server));
    try {
      await Promise.all(buses.map((bus) => bus.whenReady()));
      await Promise.all(buses.map((bus) => bus.provision()));
      await server.asOperator((jsm) => jsm.streams.update(STREAM_NAME, { max_age: 5_000_000_000 * 60 }));
      expect(await buses[0]?.provision()).toEqual({ created: false });
      const { config } = await server.asOperator((jsm) => jsm.streams.info(STREAM_NAME));
      expect(config).toMatchObject({
        subjects: ['angelia.evt.>'],
        storage: 'file',
        discard: 'old',
        max_age: 3_600_000_000_000,
        num_replicas: 1,
      });
      expect(config.max_bytes).toBeGreaterThan(0);
      await server.asOperator((jsm) => jsm.streams.delete(STREAM_NAME));
      const made = await Promise.all(buses.map((bus) => bus.provision()));
      expect(made).toContainEqual({ created: true });
      expect(await Promise.all(buses.map((bus) => bus.provision()))).not.toContainEqual({ created: true });
    } finally {
      await Promise.all(buses.map((bus) => bus.close()));
      await server.dispose();
    }
  });

  it('says what to do when the server cannot keep the replicas', async () => {
    const server = await NatsServer.start();
    const bus = busOn(server, { replicas: 3 });
    try {
      await bus.whenReady();
      await expect(bus.provision()).rejects.toMatchObject({
        code: 'bus_unusable',
        retryable: false,
        message: expect.stringContaining('set nats.replicas to 1'),
      });
    } finally {
      await bus.close();
      await server.dispose();
    }
  });
});

describe('connecting', () => {
  it.each([
    ['a token', { token: 's3cret-tok/n' }],
    ['user and password', { user: { name: 'ann', password: 's3cret' } }],
  ])('works with %s in the URL, which is logged nowhere', async (_, options) => {
    const server = await NatsServer.start(options);
    const logger = new RecordingLogger();
    const bus = busOn(server, { logger });
    const wrong = busOn(server, { logger, url: `nats://s3cret-wrong@127.0.0.1:${server.port}` });
    try {
      await bus.whenReady();
      await bus.provision();
      await eventually(() => logger.lines.some((line) => line.includes('Authorization')));
      expect(wrong.connected).toBe(false);
      expect(logger.lines.join('\n')).toContain(`127.0.0.1:${server.port}`);
      expect(logger.lines.join('\n')).not.toContain('s3cret');
    } finally {
      await wrong.close();
      await bus.close();
      await server.dispose();
    }
  });

  it('logs once per change, not per try', async () => {
    const server = await NatsServer.start();
    const logger = new RecordingLogger();
    const statuses: BusStatus[] = [];
    const bus = busOn(server, { logger, onStatus: (status) => statuses.push(status) });
    try {
      await bus.whenReady();
      await server.stop();
      await eventually(() => !bus.connected);
      // Long enough for several tries.
      await pause(2_000);
      await server.start();
      await eventually(() => bus.connected);
      expect(statuses.map(({ connected }) => connected)).toEqual([true, false, true]);
      expect(logger.lines.filter((line) => line.includes('NATS is unreachable'))).toHaveLength(1);
      expect(bus.serverVersion).toMatch(/^\d+\.\d+\.\d+/);
    } finally {
      await bus.close();
      await server.dispose();
    }
  });

  it('to a server without JetStream says what to do, and goes on once it is repaired', async () => {
    const off = await NatsServer.start({ jetstream: false });
    const bus = busOn(off);
    try {
      await expect(bus.whenReady()).rejects.toMatchObject({
        code: 'bus_unusable',
        retryable: false,
        message: expect.stringContaining('-js'),
      });
      await expect(bus.publishHints([outgoing()])).rejects.toMatchObject({ code: 'bus_unusable' });
      await off.mend();
      await eventually(() => bus.connected);
      await bus.publishHints([outgoing()]);
    } finally {
      await bus.close();
      await off.dispose();
    }
  });

  it('to a server that is too old says so', async () => {
    const { server, port } = await oldServer();
    const bus = connectBus({
      url: `nats://127.0.0.1:${port}`,
      name: 'test',
      replicas: 1,
      logger: new RecordingLogger(),
    });
    try {
      await expect(bus.whenReady()).rejects.toMatchObject({
        code: 'bus_unusable',
        message: 'nats-server 2.8.4 is too old: install 2.9 or newer and restart it',
      });
    } finally {
      await bus.close();
      server.close();
    }
  });
});

describe('core messages', () => {
  it('reach a subscription that was made before the server was up, also after a restart', async () => {
    const server = await NatsServer.prepare();
    const bus = busOn(server);
    const got: string[] = [];
    try {
      bus.subscribe('angelia.cancel.*', () => {
        throw new Error('a listener that fails');
      });
      const unsubscribe = bus.subscribe('angelia.cancel.*', (subject, payload) =>
        got.push(`${subject} ${payload}`),
      );
      bus.ping('angelia.cancel.lost', 'nobody hears this');
      await server.start();
      await eventually(() => bus.connected);
      bus.ping('angelia.cancel.one', 'a');
      await eventually(() => got.length === 1);
      await server.kill();
      await eventually(() => !bus.connected);
      await server.start();
      await eventually(() => bus.connected);
      bus.ping('angelia.cancel.two');
      await eventually(() => got.length === 2);
      expect(got).toEqual(['angelia.cancel.one a', 'angelia.cancel.two ']);
      unsubscribe();
      const after: string[] = [];
      bus.subscribe('angelia.after', (subject) => after.push(subject));
      bus.ping('angelia.cancel.three');
      bus.ping('angelia.after');
      await eventually(() => after.length === 1);
      expect(got).toHaveLength(2);
    } finally {
      await bus.close();
      await server.dispose();
    }
  });
});

/** Only the handshake of a server version that nobody can install any more. */
async function oldServer(): Promise<{ server: Server; port: number }> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.write(
      'INFO {"server_id":"X","version":"2.8.4","proto":1,"max_payload":1048576,"headers":true}\r\n',
    );
    socket.on('data', (data) => {
      if (data.includes('PING')) socket.write('PONG\r\n');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { server, port: address.port };
}
