import { type Hint, STREAM_NAME, subjectFilter } from '@angelia/contracts';
import { eventually } from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { busOn, DURABLE, outgoing, RecordingLogger, TRACEPARENT, TYPE } from '../testing/fixture.ts';
import { NatsServer } from '../testing/nats-server.ts';
import type { Bus, Consumption, DeadLetter, HintVerdict } from '../types.ts';

/** What consumptions say about their messages, as the server hears it, and how to stop listening. */
async function listenToVerdicts(server: NatsServer): Promise<{ heard: string[]; nc: NatsConnection }> {
  const heard: string[] = [];
  const nc = await connect({ servers: `127.0.0.1:${server.port}` });
  nc.subscribe('$JS.ACK.>', { callback: (_, message) => void heard.push(message.string()) });
  await nc.flush();
  return { heard, nc };
}

describe('a consumption', () => {
  let server: NatsServer;
  let bus: Bus;
  let logger: RecordingLogger;
  const listening: NatsConnection[] = [];

  beforeAll(async () => {
    server = await NatsServer.start();
  });
  afterAll(() => server.dispose());

  beforeEach(async () => {
    logger = new RecordingLogger();
    bus = busOn(server, { logger });
    await bus.whenReady();
    await bus.provision();
    await server.asOperator((jsm) => jsm.streams.purge(STREAM_NAME));
  });
  afterEach(async () => {
    for (const nc of listening.splice(0)) await nc.close();
    await bus.close();
    await server.asOperator(async (jsm) => {
      for await (const { name } of jsm.consumers.list(STREAM_NAME))
        await jsm.consumers.delete(STREAM_NAME, name);
    });
  });

  async function verdicts(): Promise<string[]> {
    const { heard, nc } = await listenToVerdicts(server);
    listening.push(nc);
    return heard;
  }

  function consume(
    handler: (hint: Hint) => Promise<HintVerdict>,
    more: Partial<Parameters<Bus['consume']>[0]> = {},
    on: Bus = bus,
  ): Consumption {
    return on.consume({ durable: DURABLE, type: TYPE, concurrency: 4, handler, ...more });
  }

  it('gets only the hints of its type, complete and with the trace', async () => {
    const seen: Hint[] = [];
    consume(async (hint) => {
      seen.push(hint);
      return 'done';
    });
    await bus.publishHints([
      outgoing('other', { type: 'session.ended' }),
      outgoing('mine', { version: 7, traceparent: TRACEPARENT }),
    ]);
    await eventually(() => seen.length > 0);
    expect(seen).toEqual([{ stream_id: 'mine', version: 7, type: TYPE, traceparent: TRACEPARENT }]);
  });

  it('is an explicit-ack durable with an ack_wait and without a backoff', async () => {
    const consumption = consume(async () => 'done');
    await eventually(() => consumption.active);
    const { config } = await server.asOperator((jsm) => jsm.consumers.info(STREAM_NAME, DURABLE));
    expect(config).toMatchObject({
      ack_policy: 'explicit',
      ack_wait: 30_000_000_000,
      filter_subject: subjectFilter(TYPE),
      max_ack_pending: 10_000,
    });
    expect(config.backoff).toBeUndefined();
  });

  it('brings a durable of an older release up to date', async () => {
    await server.asOperator((jsm) =>
      jsm.consumers.add(STREAM_NAME, {
        durable_name: DURABLE,
        ack_policy: 'explicit',
        filter_subject: subjectFilter(TYPE),
        ack_wait: 5_000_000_000,
        max_ack_pending: 3,
      }),
    );
    const consumption = consume(async () => 'done');
    await eventually(() => consumption.active);
    const { config } = await server.asOperator((jsm) => jsm.consumers.info(STREAM_NAME, DURABLE));
    expect(config).toMatchObject({ ack_wait: 30_000_000_000, max_ack_pending: 10_000 });
  });

  it('never runs more handlers than its concurrency, nor holds more messages than twice that', async () => {
    let most = 0;
    let running = 0;
    let handled = 0;
    const gate = Promise.withResolvers<void>();
    consume(async () => {
      most = Math.max(most, ++running);
      await gate.promise;
      running--;
      handled++;
      return 'done';
    });
    await bus.publishHints(Array.from({ length: 200 }, () => outgoing()));
    await eventually(() => running === 4);
    const { num_ack_pending } = await server.asOperator((jsm) => jsm.consumers.info(STREAM_NAME, DURABLE));
    expect(num_ack_pending).toBeLessThanOrEqual(8);
    gate.resolve();
    await eventually(() => handled === 200);
    expect(most).toBe(4);
  });

  it('acks after the verdict, not before', async () => {
    const gate = Promise.withResolvers<void>();
    let started = false;
    consume(async () => {
      started = true;
      await gate.promise;
      return 'done';
    });
    await bus.publishHints([outgoing()]);
    await eventually(() => started);
    expect(await server.unsettled(DURABLE)).toBe(1);
    gate.resolve();
    await eventually(async () => (await server.unsettled(DURABLE)) === 0);
  });

  it('gets a hint again when the handler throws, after a growing delay', async () => {
    const heard = await verdicts();
    const at: number[] = [];
    consume(async () => {
      at.push(performance.now());
      if (at.length < 4) throw new Error('postgres is away');
      return 'done';
    });
    await bus.publishHints([outgoing()]);
    await eventually(() => heard.includes('+ACK'));
    const delays = heard.slice(0, -1).map((text) => Number(/^-NAK {"delay":(\d+)}$/.exec(text)?.[1]) / 1e6);
    const gaps = at.slice(1).map((time, i) => time - (at[i] as number));
    expect(delays).toHaveLength(3);
    for (const [n, delay] of delays.entries()) {
      const longest = 250 * 2 ** n;
      expect(delay).toBeLessThanOrEqual(longest);
      expect(delay).toBeGreaterThanOrEqual(longest * 0.75);
      expect(gaps[n]).toBeGreaterThan(delay * 0.9);
    }
    await eventually(async () => (await server.unsettled(DURABLE)) === 0);
    expect(logger.lines.filter((line) => line.includes('hint failed'))).toHaveLength(1);
  });

  it('gets a hint again after the delay that the handler asks for', async () => {
    const at: number[] = [];
    consume(async () => {
      at.push(performance.now());
      return at.length === 1 ? { retryInMs: 700 } : 'done';
    });
    await bus.publishHints([outgoing()]);
    await eventually(() => at.length === 2);
    expect((at[1] as number) - (at[0] as number)).toBeGreaterThan(650);
    await eventually(async () => (await server.unsettled(DURABLE)) === 0);
  });

  it('makes an error that is not retryable a dead letter, and does not get the hint again', async () => {
    const letters: DeadLetter[] = [];
    let calls = 0;
    consume(
      async () => {
        calls++;
        throw Object.assign(new Error('unknown event type'), { retryable: false });
      },
      { onDeadLetter: async (letter) => void letters.push(letter) },
    );
    await bus.publishHints([outgoing('broken')]);
    await eventually(() => letters.length > 0);
    expect(letters[0]).toMatchObject({
      durable: DURABLE,
      reason: 'unknown event type',
      hint: { stream_id: 'broken' },
    });
    await eventually(async () => (await server.unsettled(DURABLE)) === 0);
    expect(calls).toBe(1);
  });

  it('retries a handler that fails although the infrastructure works, then makes the hint a dead letter', async () => {
    const letters: DeadLetter[] = [];
    const calls = { bug: 0, outage: 0 };
    consume(
      async ({ stream_id: stream }) => {
        if (stream === 'bug') {
          calls.bug += 1;
          throw new TypeError('x is not a function');
        }
        calls.outage += 1;
        if (letters.length === 0) throw Object.assign(new Error('Postgres is away'), { retryable: true });
        return 'done';
      },
      { onDeadLetter: async (letter) => void letters.push(letter) },
    );
    await bus.publishHints([outgoing('bug'), outgoing('outage')]);
    await eventually(() => letters.length > 0);
    expect(letters[0]).toMatchObject({ reason: 'x is not a function', hint: { stream_id: 'bug' } });
    expect([calls.bug, letters[0]?.deliveries]).toEqual([6, 6]);
    // However often it is retried, an outage does not make a dead letter.
    await eventually(async () => (await server.unsettled(DURABLE)) === 0);
    expect([letters.length, calls.outage > 1]).toEqual([1, true]);
  });

  it('offers a dead letter again until it is taken', async () => {
    let offers = 0;
    consume(
      async () => {
        throw Object.assign(new Error('no'), { retryable: false });
      },
      {
        onDeadLetter: async () => {
          if (++offers < 3) throw new Error('postgres is away');
        },
      },
    );
    await bus.publishHints([outgoing()]);
    await eventually(() => offers === 3);
    await eventually(async () => (await server.unsettled(DURABLE)) === 0);
  });

  it('makes a message that is not a hint a dead letter', async () => {
    const letters: DeadLetter[] = [];
    consume(async () => 'done', { onDeadLetter: async (letter) => void letters.push(letter) });
    const nc = await connect({ servers: `127.0.0.1:${server.port}` });
    nc.publish(`angelia.evt.${TYPE}.x`, 'not json');
    await nc.flush();
    await nc.close();
    await eventually(() => letters.length > 0);
    expect(letters[0]).toMatchObject({ subject: `angelia.evt.${TYPE}.x`, hint: null });
    await eventually(async () => (await server.unsettled(DURABLE)) === 0);
  });

  it('waits for its handlers when it is stopped, starts no more, and gives the rest to others at once', async () => {
    const heard = await verdicts();
    const gate = Promise.withResolvers<void>();
    const first: string[] = [];
    const consumption = consume(async (hint) => {
      first.push(hint.stream_id);
      await gate.promise;
      return 'done';
    });
    const hints = Array.from({ length: 8 }, (_, i) => outgoing(`s${i}`));
    await bus.publishHints(hints);
    await eventually(() => consumption.inFlight === 4);

    let stopped = false;
    const stopping = consumption.stop().then(() => {
      stopped = true;
    });
    const other = busOn(server);
    const second: string[] = [];
    consume(
      async (hint) => {
        second.push(hint.stream_id);
        return 'done';
      },
      {},
      other,
    );
    try {
      await eventually(() => second.length === 4);
      // They did not have to wait for the end of ack_wait.
      expect(heard.filter((text) => text === '-NAK')).toHaveLength(4);
      expect(stopped).toBe(false);
      gate.resolve();
      await stopping;
      expect(consumption.inFlight).toBe(0);
      expect([...first, ...second].sort()).toEqual(hints.map((hint) => hint.stream_id).sort());
      await eventually(async () => (await server.unsettled(DURABLE)) === 0);
    } finally {
      gate.resolve();
      await other.close();
    }
  });

  it('shares the hints of its durable with its replicas', async () => {
    const other = busOn(server);
    const seen: string[][] = [[], []];
    // Each holds what it has until the other has some, too: a slow machine may run one of them much later.
    const gate = Promise.withResolvers<void>();
    const handlerOf = (mine: string[]) => async (hint: Hint) => {
      mine.push(hint.stream_id);
      if (seen.every((each) => each.length > 0)) gate.resolve();
      await gate.promise;
      return 'done' as const;
    };
    const [one, two] = seen as [string[], string[]];
    const both = [consume(handlerOf(one)), consume(handlerOf(two), {}, other)];
    try {
      await eventually(() => both.every((consumption) => consumption.active));
      const hints = Array.from({ length: 200 }, () => outgoing());
      await bus.publishHints(hints);
      await eventually(() => seen.flat().length >= 200);
      expect(new Set(seen.flat()).size).toBe(200);
    } finally {
      await other.close();
    }
  });

  it('refuses an invalid concurrency', () => {
    expect(() => consume(async () => 'done', { concurrency: 0 })).toThrow(RangeError);
  });
});

// Beside the others, on a server of its own, because it only waits: that a handler is at work is reported every 10 s.
describe('a long handler', () => {
  it.concurrent('that takes longer than ack_wait keeps its hint, instead of getting it a second time', async () => {
    const server = await NatsServer.start();
    const bus = busOn(server, { logger: new RecordingLogger() });
    try {
      await bus.whenReady();
      await bus.provision();
      const { heard, nc } = await listenToVerdicts(server);
      const gate = Promise.withResolvers<void>();
      let calls = 0;
      const consumption = bus.consume({
        durable: DURABLE,
        type: TYPE,
        concurrency: 4,
        handler: async () => {
          calls++;
          await gate.promise;
          return 'done';
        },
      });
      await eventually(() => consumption.active);
      await server.asOperator((jsm) =>
        jsm.consumers.update(STREAM_NAME, DURABLE, { ack_wait: 15_000_000_000 }),
      );
      await bus.publishHints([outgoing()]);
      await eventually(() => heard.filter((text) => text === '+WPI').length === 2);
      gate.resolve();
      await eventually(async () => (await server.unsettled(DURABLE)) === 0);
      expect(calls).toBe(1);
      await nc.close();
    } finally {
      await bus.close();
      await server.dispose();
    }
  });
});
