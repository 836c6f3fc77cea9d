import { randomUUID } from 'node:crypto';
import { type Bus, connectBus } from '@angelia/bus';
import { NatsServer } from '@angelia/bus/testing';
import type { Hint } from '@angelia/contracts';
import { type EventLog, openEventLog } from '@angelia/event-log';
import { createTestDatabase, eventually, type TestDatabase } from '@angelia/testkit';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { announceCommits } from './announce-commits.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const TRACEPARENT = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
let server: NatsServer;
let database: TestDatabase;
let bus: Bus;
let log: EventLog;

beforeEach(async () => {
  server = await NatsServer.start();
  database = await createTestDatabase();
  bus = connectBus({ url: server.url, name: 'test', replicas: 1, logger: silent });
  log = openEventLog({
    url: database.url,
    instance: 'test',
    holder: 'test#1',
    onCommitted: announceCommits(bus),
  });
});
afterEach(async () => {
  await bus.close();
  await log.close();
  await database.drop();
  await server.dispose();
});

function append(streamId: string, expectedVersion: number, ...types: string[]): Promise<unknown> {
  const events = types.map((type) => ({
    eventId: randomUUID(),
    type,
    data: { secret: 'not for the bus' },
    meta: { actor: 'test', traceparent: TRACEPARENT },
  }));
  return log.append({ streams: [{ streamId, expectedVersion, events }] });
}

function hints(type: string): Hint[] {
  const seen: Hint[] = [];
  const handler = async (hint: Hint) => {
    seen.push(hint);
    return 'done' as const;
  };
  bus.consume({ durable: `test-${randomUUID()}`, type, concurrency: 4, handler });
  return seen;
}

it('a commit is hinted without any relay, with its version and trace and without its data', async () => {
  await bus.whenReady();
  const created = hints('session.created');
  const id = randomUUID();
  await append(id, 0, 'session.created', 'turn.requested');
  await eventually(() => created.length > 0);
  expect(created).toEqual([{ stream_id: id, version: 1, type: 'session.created', traceparent: TRACEPARENT }]);
});

it('the hint that the relay publishes later is the same message: it arrives once', async () => {
  await bus.whenReady();
  const [id, next] = [randomUUID(), randomUUID()];
  const created = hints('session.created');
  const eventId = randomUUID();
  const event = { eventId, type: 'session.created', data: {}, meta: { actor: 'test' } };
  await log.append({ streams: [{ streamId: id, expectedVersion: 0, events: [event] }] });
  await bus.publishHints([{ stream_id: id, version: 1, type: 'session.created', messageId: eventId }]);
  await append(next, 0, 'session.created');
  await eventually(() => created.some((hint) => hint.stream_id === next));
  expect(created.map((hint) => hint.stream_id)).toEqual([id, next]);
});

it('what is refused is not hinted', async () => {
  await bus.whenReady();
  const created = hints('session.created');
  const [id, last] = [randomUUID(), randomUUID()];
  await append(id, 7, 'session.created');
  await append(last, 0, 'session.created');
  await eventually(() => created.length > 0);
  expect(created.map((hint) => hint.stream_id)).toEqual([last]);
});

it('an append succeeds while NATS is away', async () => {
  await bus.whenReady();
  await server.stop();
  try {
    expect(await append(randomUUID(), 0, 'session.created')).toMatchObject({ status: 'appended' });
  } finally {
    await server.start();
  }
});
