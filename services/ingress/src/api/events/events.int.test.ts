import { randomUUID } from 'node:crypto';
import { NatsServer } from '@angelia/bus/testing';
import { type EventLog, openEventLog } from '@angelia/event-log';
import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { signedPost, eventually as until } from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { apiCall } from '../../testing/api-call.ts';
import { type EventSource, openEvents } from '../../testing/event-source.ts';
import { startIngress, type TestIngress } from '../../testing/ingress.ts';
import { openWorker, type Worker } from '../../testing/worker.ts';
import { MOST_READERS } from './event-feed.ts';

const SECRET = 'webhook-secret';

let database: TestDatabase;
let nats: NatsServer;
let ingress: TestIngress;
let worker: Worker;
let log: EventLog;
const sources: EventSource[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  nats = await NatsServer.start();
  ingress = await start();
  worker = openWorker({ databaseUrl: database.url, natsUrl: nats.url });
  log = openEventLog({ url: database.url, instance: 'reader', holder: 'reader#1' });
});

afterEach(async () => {
  for (const source of sources.splice(0)) source.hangUp();
  await until(() => ingress.feed().size.readers === 0);
});

afterAll(async () => {
  await worker?.close();
  await ingress?.close();
  await log?.close();
  await nats?.dispose();
  await database?.drop();
});

function start(): Promise<TestIngress> {
  return startIngress({
    databaseUrl: database.url,
    natsUrl: nats.url,
    config: {
      secret: SECRET,
      limits: { rate_limit: 0 },
      agents: { default: {} },
      routes: { hook: { prompt: '{text}' }, other: { prompt: '{text}' } },
    },
    env: { ANGELIA_MASTER_KEY: Buffer.alloc(32, 7).toString('base64') },
  });
}

async function newSession(route = 'hook', text = 'hello', of = ingress): Promise<string> {
  const answer = await signedPost({ baseUrl: of.baseUrl, route, secret: SECRET, body: { text } });
  expect(answer.status).toBe(202);
  return answer.sessionId;
}

async function read(query = '', headers: Record<string, string> = {}, of = ingress): Promise<EventSource> {
  const source = await openEvents(of, `/v1/events${query}`, headers);
  sources.push(source);
  return source;
}

const seen = (source: EventSource) => source.events.map(({ session, version }) => `${session} ${version}`);
const typesOf = (source: EventSource, session: string) =>
  source.events.filter((event) => event.session === session).map(({ type }) => type);

/** Every event after this place, as the tail has it. */
async function tailAfter(id: string): Promise<string[]> {
  const [epoch, tx = '0', position] = id.split('-');
  const page = await log.tail.read({ epoch: Number(epoch), tx, position: Number(position) }, 100_000, {
    data: false,
  });
  return page.events.map((event) =>
    /^[0-9a-f]{8}-/.test(event.streamId) ? `${event.streamId} ${event.version}` : `null ${event.version}`,
  );
}

/** An open transaction of any other test hides the end of the tail for a while. */
async function inTail(sessions: readonly string[], from = '1-0-0'): Promise<string[]> {
  return until(async () => {
    const tail = await tailAfter(from);
    const there = new Set(tail);
    return sessions.every((id) => there.has(`${id} 2`)) ? tail : null;
  });
}

describe('the feed of all events', () => {
  it('sends what happens from now on, of all sessions and routes, in the order of the tail', async () => {
    const before = await newSession();
    await inTail([before]);
    const source = await read();
    expect([source.status, source.headers['content-type']]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    await until(() => source.lastId() !== '');
    const from = source.lastId();
    const ids = await Promise.all(
      Array.from({ length: 20 }, (_, n) => newSession(n % 2 === 0 ? 'hook' : 'other')),
    );
    await Promise.all(ids.map((id) => worker.answers(id, 'done')));
    await worker.startsRun(before);
    const expected = await until(async () => {
      const tail = await tailAfter(from);
      return tail.some((event) => event === `${before} 3`) && tail.length >= 20 * 5 + 1 ? tail : null;
    });
    await until(() => source.events.length >= expected.length);
    expect(seen(source)).toEqual(expected);
    expect(typesOf(source, ids[0] ?? '')).toEqual([
      'session.created',
      'turn.requested',
      'run.started',
      'session.final-response',
      'session.ended',
    ]);
    expect(typesOf(source, before)).toEqual(['run.started']);
  });

  it('is filtered by route and by types', async () => {
    const old = await newSession('other');
    const ofRoute = await read('?route=other');
    const ofTypes = await read('?type=session.,turn.requested');
    const ofBoth = await read('?route=hook&type=session.created');
    const [hook, other] = [await newSession('hook'), await newSession('other')];
    await worker.startsRun(old);
    await worker.answers(hook, 'done');
    await until(() => typesOf(ofTypes, hook).length === 4);
    expect(typesOf(ofTypes, hook)).toEqual([
      'session.created',
      'turn.requested',
      'session.final-response',
      'session.ended',
    ]);
    await until(() => typesOf(ofRoute, other).length === 2 && typesOf(ofRoute, old).includes('run.started'));
    expect(typesOf(ofRoute, hook)).toEqual([]);
    await until(() => ofBoth.events.length > 0);
    expect(ofBoth.events.map(({ session, type }) => [session, type])).toEqual([[hook, 'session.created']]);
  });

  it('resumes after Last-Event-ID without loss or repeat, over a restart of the server, while events come', async () => {
    const first = await read();
    await until(() => first.lastId() !== '');
    const from = first.lastId();
    let running = true;
    const load = (async () => {
      // Through a server of its own, because the other one stops.
      const other = await start();
      while (running) await newSession('hook', 'more', other);
      await other.close();
    })();
    await until(() => first.events.length >= 20);
    await ingress.close();
    await until(() => first.ended());
    expect(first.text()).toContain(': this server is stopping');
    ingress = await start();
    const second = await read('', { 'last-event-id': first.lastId() });
    await until(() => second.events.length >= 20);
    second.hangUp();
    const third = await read('', { 'last-event-id': second.lastId() });
    await until(() => third.events.length >= 20);
    running = false;
    await load;
    const expected = await until(async () => {
      const tail = await tailAfter(from);
      return tail.length === [...seen(first), ...seen(second), ...seen(third)].length ? tail : null;
    });
    expect([...seen(first), ...seen(second), ...seen(third)]).toEqual(expected);
  });

  it('a reader of rare events learns its place from messages without data, so that it does not start over', async () => {
    const source = await read('?type=never.happens');
    await until(() => source.lastId() !== '');
    expect(source.events).toEqual([]);
    expect(source.text()).toMatch(/^retry: 2000\nid: 1-\d+-\d+\n\n/);
  });

  it('a slow reader costs a bounded amount of memory, delays nobody and misses nothing', async () => {
    const slow = await read();
    const fast = await read();
    await until(() => slow.lastId() !== '');
    const from = slow.lastId();
    slow.pause();
    // More than the window, the sockets and the buffers of both ends hold.
    const text = randomUUID().repeat(600);
    const written = 2_600;
    const ids: string[] = [];
    while (ids.length < written)
      ids.push(...(await Promise.all(Array.from({ length: 100 }, () => newSession('hook', text)))));
    const expected = await inTail(ids, from);
    await until(() => fast.events.length === expected.length);
    expect(seen(fast)).toEqual(expected);
    expect(slow.events.length).toBeLessThan(expected.length);
    const { events, characters, unsentBytes } = ingress.feed().size;
    expect([events <= 2_000, characters <= 8 * 1024 * 1024]).toEqual([true, true]);
    // A slice or two: it has something to send, and not all of it.
    expect([unsentBytes > 0, unsentBytes < 256 * 1024]).toEqual([true, true]);
    slow.resume();
    await until(() => slow.events.length >= expected.length);
    expect(seen(slow)).toEqual(expected);
  });

  it('many readers share one reader of the tail', async () => {
    const { tail } = ingress.log;
    const readWithin = tail.readWithin.bind(tail);
    let events = 0;
    tail.readWithin = async (...given) => {
      const page = await readWithin(...given);
      events += page.events.length;
      return page;
    };
    const readers = await Promise.all(Array.from({ length: 50 }, () => read()));
    await until(() => readers.every((reader) => reader.lastId() !== ''));
    const ids = await Promise.all(Array.from({ length: 10 }, () => newSession()));
    await until(() => readers.every((reader) => ids.every((id) => typesOf(reader, id).length === 2)));
    tail.readWithin = readWithin;
    expect(events).toBe(20);
  });

  it('has a bound on readers, and reads nothing when nobody does', async () => {
    const readers = await Promise.all(Array.from({ length: MOST_READERS }, () => read()));
    expect(readers.every(({ status }) => status === 200)).toBe(true);
    const refused = await apiCall(ingress, '/v1/events');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2']);
    for (const source of readers) source.hangUp();
    await until(() => ingress.feed().size.readers === 0);
    expect(ingress.feed().size).toEqual({ readers: 0, events: 0, characters: 0, unsentBytes: 0 });
  });

  it('shows changes of routes without their secrets', async () => {
    const source = await read('?type=route.');
    const put = await apiCall(ingress, '/v1/routes/by-api', {
      method: 'PUT',
      body: { prompt: 'x', secret: 'a-secret-of-thirty-two-characters' },
    });
    expect(put.status).toBe(201);
    await until(() => source.events.length > 0);
    expect(source.text()).toContain('"name":"by-api"');
    expect(source.text()).not.toMatch(/ciphertext|aes-256/);
  });

  it.each(['x', '1-2', '7-1-1'])('refuses Last-Event-ID %s', async (id) => {
    const { status, body } = await apiCall(ingress, '/v1/events', { headers: { 'last-event-id': id } });
    expect([status, body.error]).toEqual([400, expect.stringContaining('Last-Event-ID')]);
  });

  it.each(['type=', 'type=UPPER', 'route=%00', 'since=1h'])('refuses %s', async (query) => {
    const { status, body } = await apiCall(ingress, `/v1/events?${query}`);
    expect([status, body.error]).toEqual([400, expect.stringContaining(query.split('=')[0] ?? '')]);
  });

  it('is closed without the token', async () => {
    expect((await fetch(new URL('/v1/events', ingress.baseUrl))).status).toBe(401);
  });
});
