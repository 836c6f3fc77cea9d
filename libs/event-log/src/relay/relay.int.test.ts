import { randomUUID } from 'node:crypto';
import { eventually } from '@angelia/testkit';
import { WakeUp } from '@angelia/waiting';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import pg from 'pg';
import type { EventHint } from '../append/hints-of.ts';
import { type EventLog, openEventLog } from '../event-log.ts';
import { appendTo, someEvent } from '../testing/some-events.ts';
import { createTestDatabase, type TestDatabase } from '../testing/test-database.ts';
import { type RelayOptions, runRelay } from './relay.ts';

let database: TestDatabase;
let log: EventLog;
let wake: WakeUp;
let stops: (() => Promise<void>)[];

beforeEach(async () => {
  database = await createTestDatabase();
  wake = new WakeUp();
  stops = [];
  log = openEventLog({
    url: database.url,
    instance: 'test',
    holder: 'test#1',
    onCommitted: () => wake.wake(),
  });
});
afterEach(async () => {
  for (const stop of stops) await stop();
  await log.close();
  await database.drop();
});

/** Collects what is published. `fail` takes the bus away. */
function relay(leadEpoch: number, options: Partial<RelayOptions> & { fail?: () => boolean } = {}) {
  const published: EventHint[] = [];
  const stopping = new AbortController();
  const running = runRelay({
    log,
    leadEpoch,
    signal: stopping.signal,
    wake,
    publish: async (hints) => {
      if (options.fail?.()) throw new Error('the bus is away');
      published.push(...hints);
    },
    ...options,
  });
  const stop = async () => {
    stopping.abort();
    await running;
  };
  stops.push(stop);
  return { published, running, stop };
}

const versionsOf = (hints: readonly EventHint[], stream: string) =>
  hints.filter((hint) => hint.stream_id === stream).map((hint) => hint.version);

it('events that nobody waits for stay off the bus, and the checkpoint moves past them', async () => {
  const { published, stop } = relay(1);
  const stream = randomUUID();
  const types = [
    'session.created',
    'turn.requested',
    'delivery.succeeded',
    'model.responded',
    'session.final-response',
  ];
  await log.append(
    appendTo(
      stream,
      0,
      [...types, 'turn.requested'].map((type) => someEvent(type)),
    ),
  );
  await eventually(() => versionsOf(published, stream).length >= 3);
  expect(versionsOf(published, stream)).toEqual([1, 5, 6]);
  await log.append(appendTo(stream, 6, [someEvent('delivery.succeeded')]));
  await eventually(async () => (await log.status.health()).relayLagMs === 0);
  await eventually(async () => {
    const [row] = await database.query(
      `SELECT c.position >= (SELECT max(position) FROM angelia.events) AS passed
       FROM angelia.checkpoints c WHERE name = 'relay'`,
    );
    return row?.passed;
  });
  await stop();
  const next = relay(2);
  await log.append(appendTo(stream, 7, [someEvent('session.ended')]));
  await eventually(() => versionsOf(next.published, stream).includes(8));
  expect(versionsOf(next.published, stream)).toEqual([8]);
});

it.each([
  ['session.created', 'run.started'],
  ['turn.requested', 'run.started'],
  ['session.final-response', 'delivery.attempted'],
  ['clarification.requested', 'delivery.attempted'],
  ['tool.started', 'tool.finished'],
])(
  '%s is not hinted once its owner appended %s, and the checkpoint moves past it',
  async (hinted, byOwner) => {
    const [taken, untaken, earlier] = [randomUUID(), randomUUID(), randomUUID()];
    const padding = [someEvent('model.responded'), someEvent('model.responded')];
    await log.append(appendTo(taken, 0, [...padding, someEvent(hinted), someEvent(byOwner)]));
    await log.append(appendTo(earlier, 0, [...padding, someEvent(byOwner), someEvent(hinted)]));
    await log.append(appendTo(untaken, 0, [...padding, someEvent(hinted), someEvent('session.ended')]));
    const { published } = relay(1);
    await eventually(() => versionsOf(published, untaken).length === 2);
    await eventually(async () => (await log.status.health()).relayLagMs === 0);
    expect(versionsOf(published, taken)).toEqual([]);
    expect(versionsOf(published, earlier)).toEqual([4]);
    expect(versionsOf(published, untaken)).toEqual([3, 4]);
  },
);

it('every event that somebody may wait for becomes one hint, in order, with its trace and without its data', async () => {
  const { published } = relay(1);
  const streams = Array.from({ length: 30 }, () => randomUUID());
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  for (let version = 0; version < 5; version += 1) {
    const event = () => ({
      ...someEvent('session.interim-status', { secret: 'x' }),
      meta: { actor: 'test', traceparent },
    });
    await Promise.all(streams.map((stream) => log.append(appendTo(stream, version, [event()]))));
  }
  await eventually(() => published.length >= 150);
  expect(published).toHaveLength(150);
  for (const stream of streams) expect(versionsOf(published, stream)).toEqual([1, 2, 3, 4, 5]);
  expect(published[0]).toEqual({
    stream_id: expect.any(String),
    version: 1,
    type: 'session.interim-status',
    traceparent,
    eventId: expect.any(String),
  });
  await eventually(async () => (await log.status.health()).relayLagMs === 0);
});

it('the next leader does not publish again what was published', async () => {
  const first = relay(1);
  await log.append(appendTo(randomUUID(), 0));
  await eventually(() => first.published.length === 1);
  // Perhaps hinted early: an open transaction of another test holds the checkpoint for a moment.
  await eventually(async () => (await log.status.health()).relayLagMs === 0);
  await first.stop();
  const second = relay(2);
  const stream = randomUUID();
  await log.append(appendTo(stream, 0));
  await eventually(() => second.published.length > 0);
  expect(second.published.map((hint) => hint.stream_id)).toEqual([stream]);
});

it('a bus that is away costs a delay: the lag shows, the order holds, nothing is lost', async () => {
  let away = true;
  const { published } = relay(1, { fail: () => away });
  const stream = randomUUID();
  for (let version = 0; version < 10; version += 1) await log.append(appendTo(stream, version));
  await eventually(async () => (await log.status.health()).relayLagMs > 200);
  away = false;
  await eventually(() => published.length === 10);
  expect(versionsOf(published, stream)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  await eventually(async () => (await log.status.health()).relayLagMs === 0);
});

it('a foreign transaction holds back the checkpoint but not the hints, and no hint comes twice', async () => {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('BEGIN');
  await client.query('SELECT pg_current_xact_id()');
  const { published } = relay(1);
  const streams = Array.from({ length: 1_500 }, () => randomUUID());
  await Promise.all(streams.map((stream) => log.append(appendTo(stream, 0))));
  await eventually(() => published.length === 1_500);
  const held = await database.query(
    "SELECT position FROM angelia.checkpoints WHERE name = 'relay' AND position > 0",
  );
  expect(held).toEqual([]);
  await client.query('COMMIT');
  await client.end();
  await eventually(async () => (await log.status.health()).relayLagMs === 0);
  expect(published).toHaveLength(1_500);
});

it('no hint comes twice when that transaction ends between two pages of one pass', async () => {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('BEGIN');
  await client.query('SELECT pg_current_xact_id()');
  const streams = Array.from({ length: 1_500 }, () => randomUUID());
  await Promise.all(streams.map((stream) => log.append(appendTo(stream, 0))));
  const published: EventHint[] = [];
  relay(1, {
    publish: async (hints) => {
      published.push(...hints);
      if (published.length === 1_000) await client.query('COMMIT');
    },
  });
  await eventually(() => published.length >= 1_500);
  await eventually(async () => (await log.status.health()).relayLagMs === 0);
  await client.end();
  expect(published).toHaveLength(1_500);
});

it('a relay ends when another one has taken over, and moves nothing', async () => {
  const old = relay(1);
  await eventually(
    async () => (await database.query('SELECT 1 FROM angelia.checkpoints WHERE lead_epoch = 1')).length === 1,
  );
  const current = relay(2, { wake: new WakeUp() });
  await eventually(
    async () => (await database.query('SELECT 1 FROM angelia.checkpoints WHERE lead_epoch = 2')).length === 1,
  );
  await log.append(appendTo(randomUUID(), 0));
  await old.running;
  await eventually(() => current.published.length === 1);
});

it('the poll finds an event without any ping', async () => {
  const silent = openEventLog({ url: database.url, instance: 'silent', holder: 'silent#1' });
  const { published } = relay(1);
  await silent.append(appendTo(randomUUID(), 0));
  await eventually(() => published.length === 1);
  await silent.close();
});
