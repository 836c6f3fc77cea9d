import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type EventLog, openEventLog } from '../event-log.ts';
import { createTestDatabase, type TestDatabase } from '../testing/test-database.ts';
import { KEPT_PER_KIND, type UnstartedBatch } from './unstarted-webhooks.ts';

let database: TestDatabase;
const logs: EventLog[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  for (const instance of ['a', 'b']) {
    logs.push(openEventLog({ url: database.url, instance, holder: `${instance}#1` }));
  }
});

afterAll(async () => {
  for (const log of logs) await log.close();
  await database?.drop();
});

function batch(route: string, at: number, kept: number, webhooks = kept): UnstartedBatch {
  const kind = { route, outcome: 'ignored', reason: 'event' };
  const newest = Array.from({ length: kept }, (_, n) => ({
    ...kind,
    receivedAt: at + n,
    status: 200,
    event: null,
    deliveryId: `${at + n}`,
    sessionId: null,
    requestedRoute: null,
    detail: `why ${at + n}`,
    source: '192.0.2.1',
  }));
  return { ...kind, webhooks, firstAt: at, lastAt: at + kept - 1, newest };
}

it('simultaneous batches of replicas, in any order of kinds, neither deadlock nor lose a count', async () => {
  const routes = Array.from({ length: 30 }, (_, n) => `r${n}`);
  await Promise.all(
    Array.from({ length: 40 }, (_, n) => {
      const ordered = n % 2 === 0 ? routes : [...routes].reverse();
      return logs[n % 2]?.unstartedWebhooks.record(ordered.map((route) => batch(route, 1_000 * n, 3, 7)));
    }),
  );
  const counts = (await logs[0]?.unstartedWebhooks.count({}))?.filter(({ route }) => routes.includes(route));
  expect(counts?.map(({ webhooks }) => webhooks)).toEqual(routes.map(() => 280));
  const kept = await logs[0]?.unstartedWebhooks.list({ route: 'r3', limit: 200 });
  expect(kept).toHaveLength(KEPT_PER_KIND);
});

it('a ring holds the newest ones, however many were counted', async () => {
  for (let n = 0; n < 60; n += 1) await logs[0]?.unstartedWebhooks.record([batch('ring', 100 * n, 2, 1_000)]);
  const kept = (await logs[1]?.unstartedWebhooks.list({ route: 'ring', limit: 200 })) ?? [];
  const last = Array.from({ length: KEPT_PER_KIND / 2 }, (_, n) => [
    100 * (59 - n) + 1,
    100 * (59 - n),
  ]).flat();
  expect(kept.map(({ receivedAt }) => receivedAt)).toEqual(last);
});

it('a batch larger than the ring keeps its newest', async () => {
  await logs[0]?.unstartedWebhooks.record([batch('large', 1, 80)]);
  const kept = (await logs[0]?.unstartedWebhooks.list({ route: 'large', limit: 200 })) ?? [];
  expect([kept.length, kept[0]?.receivedAt, kept.at(-1)?.receivedAt]).toEqual([KEPT_PER_KIND, 80, 31]);
});
