import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AppendResult } from '../append/request.ts';
import { type EventLog, openEventLog } from '../event-log.ts';
import { appendTo } from '../testing/some-events.ts';
import { createTestDatabase, type TestDatabase } from '../testing/test-database.ts';

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

function take(
  log: EventLog,
  pool: string | undefined,
  capacity: number,
  { stream = randomUUID() as string, version = 0, seconds = 60 } = {},
): Promise<AppendResult> {
  return log.append({
    ...appendTo(stream, version),
    lease: {
      resource: `run:${stream}`,
      holder: log.holder,
      seconds,
      pool: pool === undefined ? undefined : { name: pool, capacity },
    },
  });
}
const count = (results: AppendResult[], status: AppendResult['status']) =>
  results.filter((result) => result.status === status).length;

describe('a pool of leases', () => {
  it('has its capacity over all replicas that ask at once', async () => {
    const pool = randomUUID();
    const results = await Promise.all(Array.from({ length: 40 }, (_, i) => take(i % 2 ? one : two, pool, 3)));
    expect(count(results, 'appended')).toBe(3);
    expect(count(results, 'full')).toBe(37);
    expect(await database.query('SELECT FROM angelia.leases WHERE pool = $1', [pool])).toHaveLength(3);
  });

  it('keeps nothing of an append that finds it full, and refuses only that one', async () => {
    const pool = randomUUID();
    const stream = randomUUID();
    await take(one, pool, 1);
    const results = await Promise.all([
      take(one, pool, 1, { stream }),
      take(one, randomUUID(), 1),
      take(one, undefined, 1),
    ]);
    expect(results.map((result) => result.status)).toEqual(['full', 'appended', 'appended']);
    expect(await one.streams.read(stream)).toEqual([]);
    expect((await one.leases.read(`run:${stream}`)).lease).toBe(null);
  });

  it('has a free place when a lease is given back or expires; a renewed one keeps its place', async () => {
    const pool = randomUUID();
    const stream = randomUUID();
    await take(one, pool, 1, { stream });
    expect((await take(two, pool, 1)).status).toBe('full');
    await one.append({ ...appendTo(stream, 1), lease: { resource: `run:${stream}`, release: true } });
    const next = randomUUID();
    expect((await take(two, pool, 1, { stream: next })).status).toBe('appended');
    await two.leases.renew([`run:${next}`], two.holder, 60);
    expect((await take(one, pool, 1)).status).toBe('full');
    await database.query(
      "UPDATE angelia.leases SET expires_at = now() - interval '1 ms' WHERE resource = $1",
      [`run:${next}`],
    );
    expect((await take(one, pool, 1)).status).toBe('appended');
  });

  it('lets the same resource be taken again, since it has its place', async () => {
    const pool = randomUUID();
    const stream = randomUUID();
    await take(one, pool, 1, { stream });
    expect((await take(one, pool, 1, { stream, version: 1 })).status).toBe('appended');
  });

  it('reports a conflict before full, because a late caller must fold again in any case', async () => {
    const pool = randomUUID();
    const stream = randomUUID();
    await one.append(appendTo(stream, 0));
    await take(one, pool, 1);
    expect((await take(two, pool, 1, { stream, version: 0 })).status).toBe('conflict');
  });
});
