import { NatsServer } from '@angelia/bus/testing';
import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { signedPost, eventually as until } from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type EventSource, openEventSource } from '../../testing/event-source.ts';
import { ADMIN_TOKEN, startIngress, type TestIngress } from '../../testing/ingress.ts';
import { openWorker, type Worker } from '../../testing/worker.ts';
import { MOST_STREAMS } from './session-streams.ts';

const SECRET = 'webhook-secret';

let database: TestDatabase;
let nats: NatsServer;
let ingress: TestIngress;
let worker: Worker;
const sources: EventSource[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  nats = await NatsServer.start();
  ingress = await start();
  worker = openWorker({ databaseUrl: database.url, natsUrl: nats.url });
});

afterEach(async () => {
  for (const source of sources.splice(0)) source.hangUp();
  await until(() => openStreams() === 0);
});

afterAll(async () => {
  await worker?.close();
  await ingress?.close();
  await nats?.dispose();
  await database?.drop();
});

function start(natsUrl = nats.url): Promise<TestIngress> {
  return startIngress({
    databaseUrl: database.url,
    natsUrl,
    config: { secret: SECRET, agents: { default: {} }, routes: { hook: { prompt: '{text}' } } },
  });
}

async function newSession(text = 'hello'): Promise<string> {
  const answer = await signedPost({
    baseUrl: ingress.baseUrl,
    route: 'hook',
    secret: SECRET,
    body: { text },
  });
  expect(answer.status).toBe(202);
  return answer.sessionId;
}

async function follow(id: string, headers: Record<string, string> = {}, of = ingress): Promise<EventSource> {
  const source = await openEventSource(of, id, headers);
  sources.push(source);
  return source;
}

/** How many streams the server has open. */
function openStreams(of: TestIngress = ingress): number {
  return of.streams().size;
}

const seen = (source: EventSource) => source.events.map(({ type }) => type);
const versions = (source: EventSource) => source.events.map(({ id }) => Number(id));

describe('the stream of a session', () => {
  it('sends stored events, then each new one, and ends when the session is settled', async () => {
    const id = await newSession();
    const source = await follow(id);
    expect([source.status, source.headers['content-type']]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    await until(() => source.events.length === 2);
    await worker.startsRun(id);
    await until(() => seen(source).includes('run.started'));
    await worker.does(id, (state) => ({ type: 'finish-turn', generation: state.generation, text: 'done' }));
    await until(() => seen(source).includes('session.ended'));
    // Ended, but not delivered yet: the stream continues.
    expect(source.ended()).toBe(false);
    await worker.delivers(id);
    await until(() => source.ended());
    expect(seen(source)).toEqual([
      'session.created',
      'turn.requested',
      'run.started',
      'session.final-response',
      'session.ended',
      'delivery.attempted',
      'delivery.succeeded',
    ]);
    expect(versions(source)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(source.events.every((event) => Number(event.id) === event.version)).toBe(true);
    await until(() => openStreams() === 0);
  });

  it('is woken by a commit, also for facts without a hint on the bus', async () => {
    const id = await newSession();
    const source = await follow(id);
    await until(() => source.events.length === 2);
    const msUntilSent = async (append: () => Promise<unknown>) => {
      const before = source.events.length;
      const since = performance.now();
      await append();
      await until(() => source.events.length > before, { everyMs: 5 });
      return performance.now() - since;
    };
    const interrupt = () =>
      worker.does(id, ({ generation }) => ({ type: 'interrupt-run', generation, reason: 'drain' }));
    // With the poll alone each but the first takes about a second, because a poll also found its predecessor. With the
    // ping one is quicker sooner or later, however busy the machine is.
    await msUntilSent(() => worker.startsRun(id));
    await until(async () => {
      const both = [await msUntilSent(interrupt), await msUntilSent(() => worker.startsRun(id))];
      return Math.min(...both) < 400;
    });
  });

  it('continues after Last-Event-ID, without a gap or a repeat', async () => {
    const id = await newSession();
    await worker.startsRun(id);
    const first = await follow(id);
    await until(() => first.events.length === 3);
    first.hangUp();
    await worker.does(id, (state) => ({ type: 'finish-turn', generation: state.generation, text: 'x' }));
    const second = await follow(id, { 'last-event-id': String(first.events.at(-1)?.id) });
    await worker.delivers(id);
    await until(() => second.ended());
    expect([...versions(first), ...versions(second)]).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  it('of a settled session ends after the stored events; a client that has them all is told not to reconnect', async () => {
    const id = await newSession();
    await worker.answers(id, 'done');
    await worker.delivers(id);
    const whole = await follow(id);
    await until(() => whole.ended());
    expect(versions(whole)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    const rest = await follow(id, { 'last-event-id': '6' });
    await until(() => rest.ended());
    expect(versions(rest)).toEqual([7]);
    expect((await follow(id, { 'last-event-id': '7' })).status).toBe(204);
  });

  it('is refused for an unknown session, a wrong Last-Event-ID, and without the token; HEAD opens none', async () => {
    const id = await newSession();
    const status = async (session: string, headers = {}) => (await follow(session, headers)).status;
    expect(await status('00000000-0000-7000-8000-000000000000')).toBe(404);
    expect(await status(id.slice(0, 8))).toBe(400);
    for (const bad of ['x', '-1', '1.5', '3', '99999999999']) {
      expect([bad, await status(id, { 'last-event-id': bad })]).toEqual([bad, 400]);
    }
    expect(await status(id, { authorization: 'Bearer wrong-admin-token-012' })).toBe(401);
    const head = await fetch(new URL(`/v1/sessions/${id}/stream`, ingress.baseUrl), {
      method: 'HEAD',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    expect(head.status).toBe(200);
    expect(openStreams()).toBe(0);
  });

  it('leaves nothing behind when its client disconnects', async () => {
    const id = await newSession();
    const source = await follow(id);
    await until(() => openStreams() === 1);
    source.hangUp();
    await until(() => openStreams() === 0);
  });

  it('continues by polling while NATS is away', async () => {
    const id = await newSession();
    const own = await NatsServer.start();
    const cutOff = await start(own.url);
    try {
      const source = await follow(id, {}, cutOff);
      await until(() => source.events.length === 2);
      await own.stop();
      await worker.startsRun(id);
      await until(() => seen(source).includes('run.started'));
    } finally {
      await cutOff.close();
      await own.dispose();
    }
  });

  it('is refused with 503 when too many are open, until one closes', async () => {
    const id = await newSession();
    for (let batch = 0; batch < MOST_STREAMS; batch += 50) {
      await Promise.all(Array.from({ length: 50 }, () => follow(id)));
    }
    expect(openStreams()).toBe(MOST_STREAMS);
    const refused = await follow(id);
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '2']);
    await worker.startsRun(id);
    await until(() => sources.slice(0, MOST_STREAMS).every((source) => source.events.length === 3));
    sources[0]?.hangUp();
    await until(() => openStreams() === MOST_STREAMS - 1);
    expect((await follow(id)).status).toBe(200);
  });

  it('ends when the server stops, and does not hold it up', async () => {
    const id = await newSession();
    const second = await start();
    const source = await follow(id, {}, second);
    await until(() => source.events.length === 2);
    await second.close();
    await until(() => source.ended());
    expect(source.text()).toContain(': this server is stopping');
  });
});
