import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type EventLog, openEventLog } from '../event-log.ts';
import { appendTo } from '../testing/some-events.ts';
import { createTestDatabase, type TestDatabase } from '../testing/test-database.ts';
import type { AppendResult } from './request.ts';

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

function limited(log: EventLog, resource: string, perMinute: number, key?: string): Promise<AppendResult> {
  return log.append({
    ...appendTo(randomUUID(), 0),
    rateLimit: { resource, perMinute },
    ...(key === undefined ? {} : { key: { key, keepSeconds: 60 } }),
  });
}

const count = (results: AppendResult[], status: AppendResult['status']) =>
  results.filter((result) => result.status === status).length;

describe('a rate limit', () => {
  it('holds over all replicas together, and reports how long to wait', async () => {
    const resource = `route:${randomUUID()}`;
    const results = await Promise.all(
      Array.from({ length: 60 }, (_, i) => limited(i % 2 ? one : two, resource, 10)),
    );
    expect(count(results, 'appended')).toBe(10);
    expect(count(results, 'limited')).toBe(50);
    const waits = results.flatMap((result) =>
      result.status === 'limited' ? [result.retryAfterSeconds] : [],
    );
    expect(Math.min(...waits)).toBeGreaterThan(0);
    // One append every 6 s, and 50 are waiting.
    expect(Math.max(...waits)).toBeLessThanOrEqual(300);
  });

  it('is not spent on duplicates, and does not hide them', async () => {
    const resource = `route:${randomUUID()}`;
    const key = randomUUID();
    const same = await Promise.all(
      Array.from({ length: 50 }, (_, i) => limited(i % 2 ? one : two, resource, 2, key)),
    );
    expect(count(same, 'appended')).toBe(1);
    expect(count(same, 'duplicate')).toBe(49);
    expect((await limited(one, resource, 2)).status).toBe('appended');
    expect((await limited(one, resource, 2)).status).toBe('limited');
    expect((await limited(two, resource, 2, key)).status).toBe('duplicate');
  });

  it('is not spent on conflicts', async () => {
    const resource = `route:${randomUUID()}`;
    const stream = randomUUID();
    const rateLimit = { resource, perMinute: 2 };
    expect((await one.append({ ...appendTo(stream, 0), rateLimit })).status).toBe('appended');
    expect((await one.append({ ...appendTo(stream, 0), rateLimit })).status).toBe('conflict');
    expect((await one.append({ ...appendTo(stream, 1), rateLimit })).status).toBe('appended');
    expect((await one.append({ ...appendTo(stream, 2), rateLimit })).status).toBe('limited');
  });

  it('fills up steadily, never beyond the limit, and not when the clock goes back', async () => {
    const resource = `route:${randomUUID()}`;
    const shift = (seconds: number) =>
      database.query(
        `UPDATE angelia.rate_limits SET as_of = as_of - interval '${seconds} seconds' WHERE resource = '${resource}'`,
      );
    expect((await limited(one, resource, 2)).status).toBe('appended');
    expect((await limited(one, resource, 2)).status).toBe('appended');
    await shift(31);
    expect((await limited(one, resource, 2)).status).toBe('appended');
    expect((await limited(one, resource, 2)).status).toBe('limited');
    await shift(-3_600);
    expect((await limited(one, resource, 2)).status).toBe('limited');
    await shift(7_200);
    const results = [
      await limited(one, resource, 2),
      await limited(two, resource, 2),
      await limited(one, resource, 2),
    ];
    expect(results.map((result) => result.status)).toEqual(['appended', 'appended', 'limited']);
  });

  it('of one resource does not affect others, nor appends without one', async () => {
    const full = `route:${randomUUID()}`;
    await limited(one, full, 1);
    const results = await Promise.all([
      limited(one, full, 1),
      limited(one, `route:${randomUUID()}`, 1),
      one.append(appendTo(randomUUID(), 0)),
    ]);
    expect(results.map((result) => result.status)).toEqual(['limited', 'appended', 'appended']);
  });
});
