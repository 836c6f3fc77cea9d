import type { DeliveryTarget, SessionId } from '@angelia/contracts';
import { LogUnavailable } from '@angelia/event-log';
import { EventTooNew, newEventId, newSessionId, Sessions } from '@angelia/sessions';
import { answer, eventually, type Sink, startSink, TEST_SINK_SECRET } from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  type DeliveryFixture,
  final,
  HURRIED,
  openDeliveryFixture,
  status,
} from '../testing/delivery-fixture.ts';

let fixture: DeliveryFixture;
let log: DeliveryFixture['log'];
let sender: DeliveryFixture['sender'];
let put: DeliveryFixture['put'];
let deliveryEvents: DeliveryFixture['deliveryEvents'];
let types: DeliveryFixture['types'];
let hintUntil: DeliveryFixture['hintUntil'];
let settled: DeliveryFixture['settled'];
let sink: Sink;

beforeAll(async () => {
  fixture = await openDeliveryFixture();
  ({ log, sender, put, deliveryEvents, types, hintUntil, settled } = fixture);
});

afterAll(() => fixture?.close());

beforeEach(async () => {
  sink = await startSink({ secret: TEST_SINK_SECRET });
});

afterEach(async () => {
  await sink.stop();
  await fixture.closeSenders();
});

const toSink = (): DeliveryTarget => ({ target: 'http', to: { url: sink.url }, untrusted_address: false });

const running = (options: { deliver?: DeliveryTarget; interim?: 'message' | 'off' } = {}) =>
  fixture.running({ deliver: toSink(), ...options });

const answered = (text = 'the answer', deliver = toSink()): Promise<SessionId> =>
  fixture.answered(text, { deliver });

describe('an address with an environment variable in it', () => {
  const toHook = (): DeliveryTarget => ({
    target: 'http',
    to: { url: `${sink.url}/services/\${HOOK}` },
    untrusted_address: false,
    references: [{ path: ['url'], at: `${sink.url}/services/`.length, name: 'HOOK' }],
  });

  it('is filled in with the value, which is recorded nowhere; a missing variable is a recorded failure, and setting it helps', async () => {
    const id = await answered('the answer', toHook());
    // On a busy machine several attempts fail before the test sees the first. None of them may be the last, or wait long.
    const delivery = { retry_schedule_seconds: new Array(100).fill(0.05) };
    const without = sender({ name: 'without', delivery });
    await hintUntil(without, id, async () => (await types(id)).includes('delivery.failed'));
    expect(sink.received).toEqual([]);
    const failed = (await deliveryEvents(id)).find(({ type }) => type === 'delivery.failed');
    expect(failed?.data).toMatchObject({
      reason: expect.stringContaining('deliver_extra.url: the environment variable HOOK is not set'),
      unknown: false,
    });
    await hintUntil(sender({ env: { HOOK: 'T0/B0/secret-of-hook' }, delivery }), id, settled(id));
    expect(sink.taken(id).map(({ path }) => path)).toEqual(['/services/T0/B0/secret-of-hook']);
    expect(JSON.stringify(await log.streams.read(id))).not.toContain('secret-of-hook');
  });

  it('goes to the fallback target if the variable stays missing', async () => {
    const id = await fixture.answered('the answer', { deliver: toHook(), fallback: toSink() });
    await hintUntil(sender(), id, settled(id));
    expect(sink.taken(id).map(({ path }) => path)).toEqual([new URL(sink.url).pathname]);
  });
});

describe('a recorded output', () => {
  it('is claimed, sent with a signature, and recorded as delivered', async () => {
    const id = await answered('all is well');
    await hintUntil(sender(), id, settled(id));
    const [message] = sink.taken(id);
    expect(message?.signature).toBe('valid');
    const data = {
      session_id: id,
      delivery_id: `d-${id}`,
      route: 'hook',
      text: 'all is well',
      version: 4,
    };
    const answer = (await log.streams.read(id)).find(({ version }) => version === 4);
    expect(message?.payload).toEqual({
      type: 'final-response',
      ...data,
      possible_duplicate: false,
      timestamp: new Date(answer?.recordedAt ?? 0).toISOString(),
      data,
    });
    expect(message?.webhookId).toBe(`${id}.4`);
    expect(await deliveryEvents(id)).toMatchObject([
      { type: 'delivery.attempted', data: { output: 4, attempt: 1, target: 'http', sender: 'delivery#b' } },
      { type: 'delivery.succeeded', data: { output: 4, attempt: 1, receipt: 'http 200' } },
    ]);
  });

  it('costs one read of the stream and two appends', async () => {
    const id = await answered();
    const calls: string[] = [];
    const counted = new Sessions({
      instance: 'delivery',
      log: {
        append: (request) => {
          calls.push('append');
          return log.append(request);
        },
        streams: {
          read: (...args) => {
            calls.push('read');
            return log.streams.read(...args);
          },
        },
        now: () => log.now(),
      },
    });
    const dispatcher = sender({ sessions: counted });
    await dispatcher.handle({ stream_id: id, version: 4 });
    await eventually(() => dispatcher.inFlight === 0);
    expect(calls).toEqual(['read', 'append', 'append']);
    expect(await types(id)).toEqual(['delivery.attempted', 'delivery.succeeded']);
  });

  it('is sent once, however often it is hinted, and its hint is answered when the claim is committed', async () => {
    const id = await answered();
    sink.behave((_payload) => ({ kind: 'hang' }));
    const dispatcher = sender({ delivery: { request_timeout_seconds: 5 } });
    await dispatcher.handle({ stream_id: id, version: 4 });
    expect(await types(id)).toEqual(['delivery.attempted']);
    expect(dispatcher.inFlight).toBe(1);
    await Promise.all([1, 2, 3].map(() => dispatcher.handle({ stream_id: id, version: 4 })));
    await eventually(() => sink.received.length > 0);
    expect(sink.received).toHaveLength(1);
  });
});

describe('order', () => {
  it('is kept across retries: nothing overtakes an output that waits', async () => {
    const id = await running();
    await put(
      id,
      { type: 'request-turn', source: 'message', input: 'more', deliveryId: null },
      final('first'),
      { type: 'start-run', generation: 2, turn: 2, runner: 'r', resumed: false, attempt: 1, takeover: false },
      { type: 'finish-turn', generation: 2, text: 'second' },
    );
    sink.next(answer(503), answer(503));
    await hintUntil(sender(), id, settled(id));
    expect(sink.received.map(({ payload, taken }) => [payload.text, taken])).toEqual([
      ['first', false],
      ['first', false],
      ['first', true],
      ['second', true],
    ]);
  });

  it('holds for statuses and the answer, if all are recorded before any is sent', async () => {
    const id = await running();
    await put(id, status(1, 'one'), status(2, 'two'), final('three'));
    await hintUntil(sender(), id, settled(id));
    expect(sink.taken(id).map(({ payload }) => payload.text)).toEqual(['one', 'two', 'three']);
  });

  it('an interim status gets one attempt; if that fails and the answer is there, it is dropped', async () => {
    const id = await running();
    await put(id, status(1, 'working'));
    sink.next(answer(503));
    const dispatcher = sender({ delivery: { retry_schedule_seconds: [30] } });
    await hintUntil(dispatcher, id, async () => (await types(id)).includes('delivery.failed'));
    await put(id, final('done'));
    await hintUntil(dispatcher, id, settled(id));
    expect(await types(id)).toEqual([
      'delivery.attempted',
      'delivery.failed',
      'delivery.dropped',
      'delivery.attempted',
      'delivery.succeeded',
    ]);
    expect(sink.taken(id).map(({ payload }) => payload.text)).toEqual(['done']);
  });

  it('with interim: off, no status is sent', async () => {
    const id = await running({ interim: 'off' });
    await put(id, status(1, 'working'), final('done'));
    await hintUntil(sender(), id, settled(id));
    expect(sink.received.map(({ payload }) => payload.text)).toEqual(['done']);
  });
});

describe('failures', () => {
  it('after the last attempt of the schedule the delivery is dead, with the reason', async () => {
    const id = await answered();
    sink.behave(answer(500));
    await hintUntil(sender(), id, settled(id));
    expect(sink.received).toHaveLength(3);
    expect(new Set(sink.received.map(({ webhookId }) => webhookId)).size).toBe(1);
    expect((await deliveryEvents(id)).at(-1)).toMatchObject({
      type: 'delivery.dead',
      data: { attempt: 3, reason: `http 500 from ${sink.url}; attempt 3 was the last of the schedule` },
    });
  });

  it('after a permanent error the delivery is dead at once, and a requested retry goes out', async () => {
    const id = await answered();
    sink.next(answer(410));
    const dispatcher = sender();
    await hintUntil(dispatcher, id, settled(id));
    expect(await types(id)).toEqual(['delivery.attempted', 'delivery.dead']);
    await put(id, { type: 'retry-delivery', output: 4, by: 'api' });
    await hintUntil(dispatcher, id, settled(id));
    expect(sink.answersOf(id)).toEqual(['the answer']);
  });

  it('a wait for Retry-After spends no attempt of the schedule', async () => {
    const id = await answered();
    sink.next(answer(429, '1'), answer(429, '1'), answer(500), answer(500));
    await hintUntil(sender(), id, settled(id));
    expect(sink.answersOf(id)).toEqual(['the answer']);
    expect(sink.received).toHaveLength(5);
    const [first, second] = sink.received;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(990);
    expect(
      (await deliveryEvents(id))
        .filter(({ type }) => type === 'delivery.failed')
        .map(({ data }) => data.counts),
    ).toEqual([false, false, true, true]);
  });

  it('with an unknown target the delivery is dead, the reason names it, and nothing goes elsewhere', async () => {
    const id = await answered('lost?', { target: 'pigeon', to: { url: sink.url }, untrusted_address: false });
    await hintUntil(sender(), id, settled(id));
    expect((await deliveryEvents(id)).at(-1)).toMatchObject({
      type: 'delivery.dead',
      data: { reason: 'there is no target `pigeon` in this version' },
    });
    expect(sink.received).toEqual([]);
  });

  it('with a private address from outside the delivery is dead, and nothing is sent', async () => {
    const id = await answered('secret?', { target: 'http', to: { url: sink.url }, untrusted_address: true });
    await hintUntil(sender(), id, settled(id));
    expect((await deliveryEvents(id)).at(-1)).toMatchObject({
      type: 'delivery.dead',
      data: { reason: expect.stringContaining('address refused') },
    });
    expect(sink.received).toEqual([]);
  });

  it('no event holds a secret', async () => {
    const id = await answered();
    sink.next({ kind: 'cut-off' }, answer(500));
    await hintUntil(sender(), id, settled(id));
    expect(JSON.stringify(await log.streams.read(id))).not.toContain(TEST_SINK_SECRET.slice('whsec_'.length));
  });
});

describe('an unknown outcome', () => {
  it.each([
    ['cut off after it was read', { kind: 'cut-off' } as const],
    ['no answer in time', { kind: 'hang' } as const],
  ])('%s: sent again, marked, with the same webhook-id', async (_name, behaviour) => {
    const id = await answered();
    sink.next(behaviour);
    await hintUntil(sender({ delivery: HURRIED }), id, fixture.failed(id, 1));
    await hintUntil(sender(), id, settled(id));
    expect(sink.received.map(({ payload }) => payload.possible_duplicate)).toEqual([false, true]);
    expect(new Set(sink.received.map(({ webhookId }) => webhookId)).size).toBe(1);
    expect(new Set(sink.received.map(({ payload }) => payload.timestamp)).size).toBe(1);
  });

  it('the sender is killed between sending and recording: another one sends once more at the deadline, marked', async () => {
    const id = await answered();
    const dying = sender({ name: 'delivery-2', sessions: diesBeforeRecording(), delivery: HURRIED });
    await dying.handle({ stream_id: id, version: 4 });
    await eventually(() => sink.received.length === 1);
    const other = sender();
    await other.handle({ stream_id: id, version: 4 });
    expect(sink.received).toHaveLength(1);
    await hintUntil(other, id, settled(id));
    expect(sink.received.map(({ payload, webhookId }) => [payload.possible_duplicate, webhookId])).toEqual([
      [false, `${id}.4`],
      [true, `${id}.4`],
    ]);
    const [first, second] = sink.received;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(1000);
  });

  it('the same, and the sender starts again under its name: it sends once more at once, marked', async () => {
    const id = await answered();
    const dying = sender({
      incarnation: 'a',
      sessions: diesBeforeRecording(),
      delivery: { request_timeout_seconds: 30 },
    });
    await dying.handle({ stream_id: id, version: 4 });
    await eventually(() => sink.received.length === 1);
    const successor = sender({ incarnation: 'b', delivery: { request_timeout_seconds: 30 } });
    await hintUntil(successor, id, settled(id));
    expect(sink.received.map(({ payload }) => payload.possible_duplicate)).toEqual([false, true]);
  });

  it('a claim is committed after the sender stopped waiting for the answer: it sends at once, not marked, because nothing had been sent', async () => {
    const id = await answered();
    let lost = false;
    const forgetful = new Sessions({
      instance: 'delivery',
      log: {
        now: () => log.now(),
        streams: log.streams,
        append: async (request) => {
          const appended = await log.append(request);
          if (lost || request.streams[0]?.events[0]?.type !== 'delivery.attempted') return appended;
          lost = true;
          throw new LogUnavailable('away');
        },
      },
    });
    const dispatcher = sender({ sessions: forgetful, delivery: { request_timeout_seconds: 30 } });
    await expect(dispatcher.handle({ stream_id: id, version: 4 })).rejects.toThrow(LogUnavailable);
    expect(sink.received).toEqual([]);
    await hintUntil(dispatcher, id, settled(id));
    expect(sink.received.map(({ payload }) => payload.possible_duplicate)).toEqual([false]);
  });

  it('Postgres is away when the outcome is recorded: it is recorded when Postgres is back, and not sent again', async () => {
    const id = await answered();
    let down = 0;
    const flaky = new Sessions({
      instance: 'delivery',
      log: {
        now: () => log.now(),
        streams: log.streams,
        append: async (request) => {
          if (request.streams[0]?.events[0]?.type === 'delivery.succeeded') down += 1;
          if (down > 0 && down < 4) throw new LogUnavailable('away');
          return log.append(request);
        },
      },
    });
    await hintUntil(sender({ sessions: flaky }), id, settled(id));
    expect(down).toBe(4);
    expect(sink.received).toHaveLength(1);
  });

  it('others append all the time when the outcome is recorded: it is recorded in the end, and not sent again', async () => {
    const id = await answered();
    // More conflicts than one execute tolerates (sessions.ts), so the append starts anew.
    let conflicts = 250;
    const crowded = new Sessions({
      instance: 'delivery',
      log: {
        now: () => log.now(),
        streams: log.streams,
        append: async (request) => {
          const outcome = request.streams[0]?.events[0]?.type === 'delivery.succeeded';
          if (!outcome || conflicts === 0) return log.append(request);
          conflicts -= 1;
          return { status: 'conflict', streams: [] };
        },
      },
    });
    const dispatcher = sender({ sessions: crowded, delivery: { request_timeout_seconds: 30 } });
    await dispatcher.handle({ stream_id: id, version: 4 });
    await eventually(() => dispatcher.inFlight === 0);
    expect(conflicts).toBe(0);
    expect(await types(id)).toEqual(['delivery.attempted', 'delivery.succeeded']);
    expect(sink.received).toHaveLength(1);
  });

  it('a newer version appends an event that this one cannot read: the output is recorded as delivered all the same, and not sent again', async () => {
    const id = await answered();
    let upgraded = false;
    const old = new Sessions({
      instance: 'delivery',
      log: {
        now: () => log.now(),
        streams: {
          read: async (...args) =>
            (await log.streams.read(...args)).map((event) =>
              event.type === 'delivery.blessed' ? { ...event, schemaVersion: 2 } : event,
            ),
        },
        append: async (request) => {
          const [stream] = request.streams;
          if (!upgraded && stream?.events[0]?.type === 'delivery.succeeded') {
            upgraded = true;
            const blessed = {
              eventId: newEventId(),
              type: 'delivery.blessed',
              data: {},
              meta: { actor: 'v2' },
            };
            await log.append({ streams: [{ ...stream, events: [blessed] }] });
          }
          return log.append(request);
        },
      },
    });
    const dispatcher = sender({ sessions: old, delivery: { request_timeout_seconds: 30 } });
    await dispatcher.handle({ stream_id: id, version: 4 });
    await eventually(() => dispatcher.inFlight === 0);
    expect(await types(id)).toEqual(['delivery.attempted', 'delivery.blessed', 'delivery.succeeded']);
    // The next step is for a version that can read all events.
    await expect(dispatcher.handle({ stream_id: id, version: 0 })).rejects.toThrow(EventTooNew);
    expect(sink.received).toHaveLength(1);
  });
});

describe('a host whose clock is wrong', () => {
  it.each([-1, 1])(
    'by %i h does not send what another host is sending, and retries when the retry is due',
    async (hours) => {
      const id = await answered();
      sink.next({ kind: 'hang' }, answer(503));
      const other = sender({ name: 'delivery-2', delivery: { request_timeout_seconds: 3 } });
      await other.handle({ stream_id: id, version: 4 });
      await eventually(() => sink.received.length === 1);
      const right = Date.now;
      const wrong = jest.spyOn(Date, 'now').mockImplementation(() => right() + hours * 3_600_000);
      try {
        const own = new Sessions({ log, instance: 'delivery' });
        const dispatcher = sender({ sessions: own });
        await dispatcher.handle({ stream_id: id, version: 0 });
        await eventually(() => dispatcher.inFlight === 0);
        expect(await types(id)).toEqual(['delivery.attempted']);
        await eventually(() => other.inFlight === 0);
        await hintUntil(dispatcher, id, settled(id));
        expect(sink.received.map(({ taken }) => taken)).toEqual([false, false, true]);
      } finally {
        wrong.mockRestore();
      }
    },
  );
});

/** Appending an outcome never returns: the process was killed before. */
function diesBeforeRecording(): Sessions {
  return new Sessions({
    instance: 'delivery',
    log: {
      now: () => log.now(),
      streams: log.streams,
      append: (request) =>
        request.streams[0]?.events[0]?.type === 'delivery.succeeded'
          ? new Promise(() => {})
          : log.append(request),
    },
  });
}

describe('several senders', () => {
  it('two at once with twenty sessions: each output is sent by one of them', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, (_, n) => answered(`answer ${n}`)));
    // Longer than a busy machine needs: a request without an answer would be sent again.
    const delivery = { request_timeout_seconds: 30 };
    const replicas = [sender({ name: 'delivery', delivery }), sender({ name: 'delivery-2', delivery })];
    await Promise.all(
      ids.flatMap((id) => replicas.map((replica) => replica.handle({ stream_id: id, version: 4 }))),
    );
    await eventually(() => replicas.every((replica) => replica.inFlight === 0));
    expect(sink.received).toHaveLength(20);
    expect([...sink.finalCounts().values()]).toEqual(ids.map(() => 1));
    for (const id of ids) expect(await types(id)).toEqual(['delivery.attempted', 'delivery.succeeded']);
  });

  it('a target that hangs holds back only its own deliveries', async () => {
    const slow = await startSink();
    slow.behave({ kind: 'hang' });
    try {
      const dispatcher = sender({ limits: { perDestination: 2 }, delivery: { request_timeout_seconds: 20 } });
      const toSlow = { target: 'http', to: { url: slow.url }, untrusted_address: false };
      const stuck = await Promise.all([1, 2, 3, 4].map(() => answered('slow', toSlow)));
      for (const id of stuck) await dispatcher.handle({ stream_id: id, version: 4 });
      const free = await Promise.all([1, 2, 3].map(() => answered('quick')));
      for (const id of free) await dispatcher.handle({ stream_id: id, version: 4 });
      await eventually(() => sink.received.length === 3 && dispatcher.inFlight === 2);
      // Sessions without a slot have no claim that could run out.
      const claimed = await Promise.all(stuck.map(types));
      expect(claimed.filter((found) => found.length > 0)).toHaveLength(2);
    } finally {
      await slow.stop();
    }
  });

  it('a session without a slot is sent when one is free, without another hint', async () => {
    const dispatcher = sender({ limits: { perDestination: 1 } });
    const ids = await Promise.all(Array.from({ length: 10 }, (_, n) => answered(`answer ${n}`)));
    for (const id of ids) await dispatcher.handle({ stream_id: id, version: 4 });
    await eventually(() => sink.received.length === 10);
    await eventually(() => dispatcher.inFlight === 0);
    expect([...sink.finalCounts().values()]).toEqual(ids.map(() => 1));
  });
});

describe('a late hint', () => {
  it('for a session that was pruned or erased meanwhile is answered, and nothing is done', async () => {
    const gone = newSessionId();
    // If it was rejected, it would be redelivered and end as a dead letter.
    await sender().handle({ stream_id: gone, version: 4 });
    expect(await log.streams.read(gone)).toEqual([]);
    expect(sink.received).toEqual([]);
  });
});

describe('drain', () => {
  it('finishes what is being sent, and claims nothing more', async () => {
    const id = await running();
    await put(id, status(1, 'one'), final('two'));
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const dispatcher = sender({
      targets: (targets) => ({
        ...targets,
        find: (name) => {
          const ready = targets.find(name);
          return {
            ...ready,
            target: {
              ...ready.target,
              send: async (request) => {
                await gate;
                return ready.target.send(request);
              },
            },
          };
        },
      }),
    });
    await dispatcher.handle({ stream_id: id, version: 5 });
    const drained = dispatcher.drain(Date.now() + 10_000, new AbortController().signal);
    release();
    await drained;
    expect(await types(id)).toEqual(['delivery.attempted', 'delivery.succeeded']);
    expect(await dispatcher.handle({ stream_id: id, version: 5 })).toEqual({ retryInMs: expect.any(Number) });
    await hintUntil(sender({ name: 'delivery-2' }), id, settled(id));
    expect(sink.taken(id).map(({ payload }) => payload.text)).toEqual(['one', 'two']);
  });
});

describe('another config', () => {
  it('counts for the next session; a send that has begun keeps its target, which is closed after it', async () => {
    const gate = Promise.withResolvers<void>();
    let begun = false;
    sink.behave(async ({ text }) => {
      begun ||= text === 'held';
      if (text === 'held') await gate.promise;
      return answer(200);
    });
    let closed = false;
    const delivery = { request_timeout_seconds: 60 };
    const dispatcher = sender({
      delivery,
      targets: (targets) => ({
        ...targets,
        close: async () => {
          closed = true;
          await targets.close();
        },
      }),
    });
    const [held, next] = [await answered('held'), await answered('next')];
    await dispatcher.handle({ stream_id: held, version: 0 });
    await eventually(() => begun);

    const secret = `whsec_${Buffer.from('another secret of 24 byt').toString('base64')}`;
    fixture.reconfigure(dispatcher, { delivery, settings: { http: { secret } } });
    await hintUntil(dispatcher, next, settled(next));
    expect(sink.received.map(({ payload, signature }) => [payload.text, signature])).toEqual([
      ['next', 'invalid'],
    ]);
    expect(closed).toBe(false);
    gate.resolve();
    await hintUntil(dispatcher, held, settled(held));
    expect(sink.received.at(-1)).toMatchObject({ payload: { text: 'held' }, signature: 'valid' });
    await eventually(() => closed);
  });
});
