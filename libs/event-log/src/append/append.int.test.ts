import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type EventLog, openEventLog } from '../event-log.ts';
import { appendTo, someEvent } from '../testing/some-events.ts';
import { createTestDatabase, type TestDatabase } from '../testing/test-database.ts';
import type { AppendRequest } from './request.ts';

let database: TestDatabase;
let one: EventLog;
let two: EventLog;

beforeAll(async () => {
  database = await createTestDatabase();
  one = openEventLog({ url: database.url, instance: 'one', holder: 'one#1' });
  two = openEventLog({ url: database.url, instance: 'two', holder: 'two#1' });
});
afterAll(async () => {
  await Promise.all([one.close(), two.close()]);
  await database.drop();
});

describe('one stream', () => {
  it('takes the events of one of two simultaneous writers and tells the other the head', async () => {
    for (let round = 0; round < 20; round += 1) {
      const stream = randomUUID();
      const results = await Promise.all([one.append(appendTo(stream, 0)), two.append(appendTo(stream, 0))]);
      expect(results.map((result) => result.status).sort()).toEqual(['appended', 'conflict']);
      expect(results).toContainEqual({ status: 'conflict', streams: [{ streamId: stream, version: 1 }] });
      expect(await one.streams.read(stream)).toHaveLength(1);
    }
  });

  it('returns what was written, with the time that the writer got', async () => {
    const stream = randomUUID();
    const data = { text: 'ünï "quoted" \\u0000 \\ud83d 😀\n', nested: [1, null, { a: true }], empty: '' };
    const events = [someEvent('session.created', data), someEvent('turn.requested', [])];
    const result = await one.append(appendTo(stream, 0, events));
    const stored = await two.streams.read(stream);
    expect(stored).toMatchObject([
      {
        streamId: stream,
        version: 1,
        type: 'session.created',
        data,
        eventId: events[0]?.eventId,
        meta: { actor: 'test' },
      },
      { version: 2, type: 'turn.requested', data: [], schemaVersion: 1 },
    ]);
    expect(result).toMatchObject({ status: 'appended', recordedAt: stored[0]?.recordedAt });
    expect(Math.abs(Date.now() - (stored[0]?.recordedAt ?? 0))).toBeLessThan(60_000);
    expect(await two.streams.read(stream, 2)).toHaveLength(1);
    expect(await two.streams.read(randomUUID())).toEqual([]);
  });

  it('checks the head, not only that the version is free', async () => {
    const stream = randomUUID();
    await one.append(appendTo(stream, 0));
    expect(await one.append(appendTo(stream, 5))).toMatchObject({
      status: 'conflict',
      streams: [{ version: 1 }],
    });
  });

  it('keeps the order of appends that one process makes without waiting', async () => {
    const stream = randomUUID();
    const results = await Promise.all(
      [0, 1, 2, 3, 4].map((version) => one.append(appendTo(stream, version))),
    );
    expect(results.map((result) => result.status)).toEqual(Array(5).fill('appended'));
  });
});

describe('an append that is sent alone', () => {
  /** The same append, alone and beside another one. */
  const ways = {
    alone: (request: AppendRequest) => one.append(request),
    'in a batch': async (request: AppendRequest) =>
      (await Promise.all([one.append(request), one.append(appendTo(randomUUID(), 0))]))[0],
  };
  const lease = (resource: string, holder = 'one#1') => ({ resource, holder, seconds: 60 });
  const key = (name: string) => ({ key: name, keepSeconds: 60 });

  it.each(Object.entries(ways))('%s has the same results', async (_, append) => {
    const [stream, name] = [randomUUID(), randomUUID()];
    const events = [someEvent('a', { n: 1 }), someEvent('b', { n: 2 })];
    const statusOf = async (request: AppendRequest) => (await append(request)).status;

    expect(await statusOf({ ...appendTo(stream, 0, events), key: key(name) })).toBe('appended');
    expect(await statusOf({ ...appendTo(randomUUID(), 0), key: key(name) })).toBe('duplicate');
    expect(await append(appendTo(stream, 1))).toEqual({
      status: 'conflict',
      streams: [{ streamId: stream, version: 2 }],
    });
    expect(await statusOf(appendTo(stream, 0, events))).toBe('appended');
    expect(await statusOf({ ...appendTo(stream, 2), lease: lease(stream) })).toBe('appended');
    expect(await statusOf({ ...appendTo(stream, 3), lease: lease(stream, 'other#1') })).toBe('leased');
    expect(await statusOf({ ...appendTo(stream, 3), lease: lease(stream) })).toBe('appended');
    const givenBack = { resource: stream, holder: 'one#1', release: true } as const;
    expect(await statusOf({ ...appendTo(stream, 4), lease: givenBack })).toBe('appended');
    expect(await statusOf({ ...appendTo(stream, 5), lease: lease(stream, 'other#1') })).toBe('appended');
    expect(await statusOf(appendTo(stream, 6, []))).toBe('appended');

    const read = await one.streams.read(stream);
    expect(read.map(({ version }) => version)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(read.slice(0, 2)).toMatchObject(events);
    expect((await one.leases.read(stream)).lease?.holder).toBe('other#1');
  });

  it('writes nothing if its lease is refused', async () => {
    const [stream, resource] = [randomUUID(), randomUUID()];
    await two.append({ ...appendTo(randomUUID(), 0), lease: lease(resource, 'other#1') });
    expect(await one.append({ ...appendTo(stream, 0), lease: lease(resource) })).toMatchObject({
      status: 'leased',
      holder: 'other#1',
    });
    expect(await one.streams.read(stream)).toEqual([]);
  });
});

describe('a batch', () => {
  it('does not fail the neighbours of a conflict, a duplicate or a lease', async () => {
    const [taken, known] = [randomUUID(), randomUUID()];
    await one.append({
      ...appendTo(taken, 0),
      lease: { resource: `run:${taken}`, holder: 'other#1', seconds: 60 },
    });
    await one.append({ ...appendTo(known, 0), key: { key: known, keepSeconds: 60 } });
    const neighbours = Array.from({ length: 5 }, () => randomUUID());
    const [conflict, duplicate, leased, ...rest] = await Promise.all([
      one.append(appendTo(taken, 0)),
      one.append({ ...appendTo(randomUUID(), 0), key: { key: known, keepSeconds: 60 } }),
      one.append({
        ...appendTo(randomUUID(), 0),
        lease: { resource: `run:${taken}`, holder: 'one#1', seconds: 60 },
      }),
      ...neighbours.map((stream) => one.append(appendTo(stream, 0))),
    ]);
    expect(conflict?.status).toBe('conflict');
    expect(duplicate).toMatchObject({
      status: 'duplicate',
      streamId: known,
      firstVersion: 1,
      lastVersion: 1,
    });
    expect(leased).toMatchObject({ status: 'leased', holder: 'other#1' });
    expect(rest.map((result) => result.status)).toEqual(Array(5).fill('appended'));
    for (const stream of neighbours) expect(await one.streams.read(stream)).toHaveLength(1);
  });

  it('is one round trip for all waiting appends', async () => {
    await one.append(appendTo(randomUUID(), 0));
    const { durable } = one.database;
    const query = durable.query.bind(durable);
    let calls = 0;
    durable.query = (...args) => {
      calls += 1;
      return query(...args);
    };
    await Promise.all(Array.from({ length: 200 }, () => one.append(appendTo(randomUUID(), 0))));
    await Promise.all(Array.from({ length: 50 }, () => one.streams.read(randomUUID())));
    delete (durable as { query?: unknown }).query;
    expect(calls).toBe(2);
  });

  it('reports its size, and the use of the pools', async () => {
    const flushes: number[] = [];
    const log = openEventLog({
      url: database.url,
      instance: 'counted',
      holder: 'counted#1',
      onFlushed: (appends, ms) => flushes.push(ms > 0 ? appends : Number.NaN),
    });
    await log.append(appendTo(randomUUID(), 0));
    await Promise.all(Array.from({ length: 40 }, () => log.append(appendTo(randomUUID(), 0))));
    expect(flushes).toEqual([1, 40]);
    expect(log.status.pools).toEqual({
      durable: { busy: 0, idle: 1, waiting: 0 },
      relaxed: { busy: 0, idle: 0, waiting: 0 },
    });
    const busy = log.database.relaxed.query({ name: 'nap', text: 'SELECT pg_sleep(0.05)' }, []);
    expect(log.status.pools.relaxed.busy + log.status.pools.relaxed.waiting).toBeGreaterThan(0);
    await busy;
    await log.close();
  });

  it('that writes several streams writes all of them or none', async () => {
    const [a, b] = [randomUUID(), randomUUID()];
    await one.append(appendTo(b, 0));
    const request = (expected: number) => ({
      streams: [
        { streamId: a, expectedVersion: 0, events: [someEvent()] },
        { streamId: b, expectedVersion: expected, events: [someEvent()] },
      ],
      key: { key: `both ${a}`, keepSeconds: 60 },
    });
    expect(await one.append(request(0))).toEqual({
      status: 'conflict',
      streams: [
        { streamId: a, version: 0 },
        { streamId: b, version: 1 },
      ],
    });
    expect(await one.streams.read(a)).toEqual([]);
    // The failed append did not take the key.
    expect(await one.append(request(1))).toMatchObject({
      status: 'appended',
      streams: [{ version: 1 }, { version: 2 }],
    });
  });

  it('can check a stream without writing to it', async () => {
    const [watched, written] = [randomUUID(), randomUUID()];
    const request = (expectedVersion: number) => ({
      streams: [
        { streamId: written, expectedVersion: 0, events: [someEvent()] },
        { streamId: watched, expectedVersion, events: [] },
      ],
    });
    expect((await one.append(request(1))).status).toBe('conflict');
    expect((await one.append(request(0))).status).toBe('appended');
  });

  it('of two processes over the same streams in different orders does not deadlock', async () => {
    const streams = Array.from({ length: 40 }, () => randomUUID());
    const all = (log: EventLog, order: string[]) =>
      Promise.all(order.map((stream) => log.append(appendTo(stream, 0))));
    const [mine, theirs] = await Promise.all([all(one, streams), all(two, [...streams].reverse())]);
    const appended = [...mine, ...theirs].filter((result) => result.status === 'appended');
    expect(appended).toHaveLength(40);
  });
});

describe('an idempotency key', () => {
  it('that comes 50 times at once from two processes is stored once, and all others get the place', async () => {
    const key = { key: `github-pr ${randomUUID()}`, keepSeconds: 600 };
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, n) => (n % 2 ? one : two).append({ ...appendTo(randomUUID(), 0), key })),
    );
    const appended = results.filter((result) => result.status === 'appended');
    expect(appended).toHaveLength(1);
    const stream = appended[0]?.status === 'appended' ? appended[0].streams[0]?.streamId : undefined;
    const duplicates = results.filter((result) => result.status === 'duplicate');
    expect(duplicates).toHaveLength(49);
    for (const duplicate of duplicates)
      expect(duplicate).toMatchObject({ streamId: stream, firstVersion: 1, lastVersion: 1 });
  });

  it('is checked before the head: a repeat is a duplicate although the stream went on', async () => {
    const stream = randomUUID();
    const key = { key: `message ${stream}`, keepSeconds: 600 };
    await one.append({ ...appendTo(stream, 0), key });
    await one.append(appendTo(stream, 1));
    expect(await one.append({ ...appendTo(stream, 0), key })).toMatchObject({
      status: 'duplicate',
      lastVersion: 1,
    });
  });

  it('that expired counts as unknown and is replaced', async () => {
    const key = `old ${randomUUID()}`;
    await one.append({ ...appendTo(randomUUID(), 0), key: { key, keepSeconds: 600 } });
    await database.query(
      "UPDATE angelia.idempotency_keys SET expires_at = now() - interval '1 s' WHERE key = $1",
      [key],
    );
    const again = randomUUID();
    expect((await one.append({ ...appendTo(again, 0), key: { key, keepSeconds: 600 } })).status).toBe(
      'appended',
    );
    expect(await one.append({ ...appendTo(randomUUID(), 0), key: { key, keepSeconds: 600 } })).toMatchObject({
      status: 'duplicate',
      streamId: again,
    });
  });

  it('that expired is also replaced beside an append that is refused', async () => {
    const [key, taken] = [`old ${randomUUID()}`, randomUUID()];
    await one.append({ ...appendTo(taken, 0), key: { key, keepSeconds: 600 } });
    await database.query(
      "UPDATE angelia.idempotency_keys SET expires_at = now() - interval '1 s' WHERE key = $1",
      [key],
    );
    const results = await Promise.all([
      one.append(appendTo(taken, 0)),
      one.append({ ...appendTo(randomUUID(), 0), key: { key, keepSeconds: 600 } }),
    ]);
    expect(results.map((result) => result.status)).toEqual(['conflict', 'appended']);
  });

  it('of a conflicting append can still be stored by the others that have it', async () => {
    const taken = randomUUID();
    await one.append(appendTo(taken, 0));
    const key = { key: randomUUID(), keepSeconds: 60 };
    const [first, second] = await Promise.all([
      one.append({ ...appendTo(taken, 0), key }),
      one.append({ ...appendTo(randomUUID(), 0), key }),
    ]);
    expect([first?.status, second?.status]).toEqual(['conflict', 'appended']);
  });
});

describe('a lease', () => {
  const take = (resource: string, holder: string, seconds = 20) => ({
    ...appendTo(randomUUID(), 0),
    lease: { resource, holder, seconds },
  });

  it('is taken with an append, refused to others, renewed, and given back with a later append', async () => {
    const resource = `run:${randomUUID()}`;
    expect((await one.append(take(resource, 'one#1'))).status).toBe('appended');
    const { lease, now } = await two.leases.read(resource);
    expect(lease?.holder).toBe('one#1');
    expect(lease?.expiresAt).toBeGreaterThan(now + 15_000);
    expect((await two.append(take(resource, 'two#1'))).status).toBe('leased');
    expect(await two.leases.renew([resource], 'two#1', 20)).toEqual([]);
    expect(await one.leases.renew([resource, 'run:unknown'], 'one#1', 60)).toEqual([resource]);
    expect((await one.leases.read(resource)).lease?.expiresAt).toBeGreaterThan(now + 50_000);
    // A release by somebody who does not hold it changes nothing.
    await two.append({ ...appendTo(randomUUID(), 0), lease: { resource, release: true } });
    expect((await one.leases.read(resource)).lease?.holder).toBe('one#1');
    await one.append({ ...appendTo(randomUUID(), 0), lease: { resource, release: true } });
    expect((await one.leases.read(resource)).lease).toBeNull();
  });

  it('that expired is taken over, and the late holder cannot renew it', async () => {
    const resource = `run:${randomUUID()}`;
    await one.append(take(resource, 'one#1'));
    await database.query(
      "UPDATE angelia.leases SET expires_at = now() - interval '1 ms' WHERE resource = $1",
      [resource],
    );
    expect(await one.leases.renew([resource], 'one#1', 20)).toEqual([]);
    expect((await two.append(take(resource, 'two#1'))).status).toBe('appended');
    expect((await one.leases.read(resource)).lease?.holder).toBe('two#1');
  });

  it('that many ask for at once goes to one', async () => {
    const resource = `run:${randomUUID()}`;
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 ? one : two).append(take(resource, `runner-${n}#1`))),
    );
    expect(results.filter((result) => result.status === 'appended')).toHaveLength(1);
    expect(results.filter((result) => result.status === 'leased')).toHaveLength(19);
  });

  it('of a dead predecessor is freed by the process that starts again under its name', async () => {
    const [mine, other] = [`run:${randomUUID()}`, `run:${randomUUID()}`];
    await one.append(take(mine, 'runner#old'));
    await one.append(take(other, 'runner-2#old'));
    expect(await one.leases.freeOf('runner', 'runner#new')).toEqual([mine]);
    const freed = await one.leases.read(mine);
    expect(freed.lease?.expiresAt).toBeLessThanOrEqual(freed.now);
    // The last sign of life of a lost run.
    expect(freed.now - (freed.lease?.renewedAt ?? 0)).toBeLessThan(10_000);
    expect((await two.append(take(mine, 'two#1'))).status).toBe('appended');
    expect(await one.leases.freeOf('runner', 'runner#new')).toEqual([]);
    expect((await one.leases.read(other)).lease?.holder).toBe('runner-2#old');
  });
});

describe('what Postgres cannot store', () => {
  it.each([
    ['U+0000', 'a\u0000b'],
    ['half a surrogate pair', 'a\ud83d'],
  ])('%s is refused with the name of the event, and only for that append', async (_, text) => {
    const good = randomUUID();
    const [bad, fine] = await Promise.allSettled([
      one.append(appendTo(randomUUID(), 0, [someEvent('tool.finished', { deep: [{ text }] })])),
      one.append(appendTo(good, 0)),
    ]);
    expect(bad).toMatchObject({ reason: { code: 'unstorable_event', retryable: false } });
    expect(String((bad as PromiseRejectedResult).reason)).toContain('tool.finished');
    expect(fine.status).toBe('fulfilled');
  });

  it('and our checks let pass fails alone: the batch is split', async () => {
    await database.query("ALTER TABLE angelia.events ADD CONSTRAINT guilty CHECK (type <> 'test.guilty')");
    const streams = Array.from({ length: 9 }, () => randomUUID());
    const results = await Promise.allSettled(
      streams.map((stream, n) =>
        one.append(appendTo(stream, 0, [someEvent(n === 3 ? 'test.guilty' : 'test.fine')])),
      ),
    );
    expect(results[3]).toMatchObject({ status: 'rejected', reason: { code: 'unstorable_event' } });
    const others = results.filter((_, n) => n !== 3);
    expect(others).toEqual(Array(8).fill(expect.objectContaining({ status: 'fulfilled' })));
    for (const [n, stream] of streams.entries())
      expect(await one.streams.read(stream)).toHaveLength(n === 3 ? 0 : 1);
  });
});
