import { randomUUID } from 'node:crypto';
import { type EventLog, openEventLog } from '@angelia/event-log';
import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { type ApiCall, apiCall } from '../../testing/api-call.ts';
import { startIngress, type TestIngress } from '../../testing/ingress.ts';

let database: TestDatabase;
let ingress: TestIngress;
let log: EventLog;

beforeAll(async () => {
  database = await createTestDatabase();
  ingress = await startIngress({
    databaseUrl: database.url,
    config: { secret: 's', agents: { default: {} } },
  });
  log = openEventLog({ url: database.url, instance: 'test', holder: 'test#1' });
});
beforeEach(() => database.query('DELETE FROM angelia.dead_letters'));
afterAll(async () => {
  await log?.close();
  await ingress?.close();
  await database?.drop();
});

const call = (path: string, options: ApiCall = {}) => apiCall(ingress, path, options);

it('dead letters are listed with their reason, in pages, and leave the list when they are replayed', async () => {
  const streams = [randomUUID(), randomUUID(), randomUUID()];
  for (const streamId of streams) {
    const payload = { stream_id: streamId, version: 3, type: 'session.final-response' };
    await log.deadLetters.record({
      streamId,
      version: 3,
      handler: 'delivery',
      reason: 'no such type',
      payload,
    });
  }
  const first = await call('/v1/dead-letters?limit=2');
  expect(first.body.items).toMatchObject([
    { stream_id: streams[2], version: 3, handler: 'delivery', reason: 'no such type' },
    { stream_id: streams[1] },
  ]);
  const second = await call(`/v1/dead-letters?limit=2&cursor=${first.body.next_cursor}`);
  expect(second.body).toMatchObject({ items: [{ stream_id: streams[0] }], next_cursor: null });

  const [{ id }] = first.body.items as [{ id: string }];
  expect((await call(`/v1/dead-letters/${id}/replay`, { method: 'POST' })).status).toBe(202);
  expect(ingress.hints).toMatchObject([{ stream_id: streams[2], type: 'session.final-response' }]);
  expect((await call(`/v1/dead-letters/${id}/replay`, { method: 'POST' })).status).toBe(404);
  expect((await call('/v1/dead-letters')).body.items).toHaveLength(2);
});

it('a dead letter of the projection is left to its leader; one without a hint cannot be replayed', async () => {
  await log.deadLetters.record({ streamId: 's', version: 1, handler: 'projection', reason: 'x' });
  await log.deadLetters.record({ streamId: 'junk', version: 0, handler: 'delivery', reason: 'no hint' });
  const letters = await log.deadLetters.list({ limit: 10 });
  const idOf = (streamId: string) => letters.find((letter) => letter.streamId === streamId)?.id;
  expect((await call(`/v1/dead-letters/${idOf('s')}/replay`, { method: 'POST' })).status).toBe(202);
  const [row] = await database.query(
    "SELECT replay_requested_at FROM angelia.dead_letters WHERE stream_id = 's'",
  );
  expect(row?.replay_requested_at).not.toBeNull();
  expect((await call(`/v1/dead-letters/${idOf('junk')}/replay`, { method: 'POST' })).status).toBe(409);
  expect((await call('/v1/dead-letters/x/replay', { method: 'POST' })).status).toBe(400);
});
