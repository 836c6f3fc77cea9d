import { randomUUID } from 'node:crypto';
import { eventually } from '@angelia/testkit';
import { pause } from '@angelia/waiting';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { type EventLog, openEventLog } from '../event-log.ts';
import { type CuttableProxy, startCuttableProxy } from '../testing/cuttable-proxy.ts';
import { appendTo, someEvent } from '../testing/some-events.ts';
import { createTestDatabase, type TestDatabase } from '../testing/test-database.ts';

let database: TestDatabase;
let proxy: CuttableProxy;
let log: EventLog;
/** Gives up soon: for a Postgres that does not answer. A busy machine may be that slow, too. */
let hurried: EventLog;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  proxy = await startCuttableProxy(database.url);
  const options = { url: proxy.url, instance: 'test', holder: 'test#1' };
  log = openEventLog(options);
  hurried = openEventLog({ ...options, timeouts: { answerMs: 400, connectMs: 400, retryMs: 1_000 } });
  await log.append(appendTo(randomUUID(), 0));
});
afterEach(async () => {
  await log.close();
  await hurried.close();
  await proxy.close();
});

it('an append whose answer was lost is found to be stored, once, with and without a key', async () => {
  const [plain, keyed] = [randomUUID(), randomUUID()];
  proxy.cutNextAnswer();
  const results = await Promise.all([
    log.append(appendTo(plain, 0, [someEvent(), someEvent()])),
    log.append({ ...appendTo(keyed, 0), key: { key: keyed, keepSeconds: 60 } }),
  ]);
  expect(proxy.cuts()).toBe(1);
  expect(results).toMatchObject([
    { status: 'appended', streams: [{ streamId: plain, version: 2 }] },
    { status: 'appended', streams: [{ streamId: keyed, version: 1 }] },
  ]);
  expect(await log.streams.read(plain)).toHaveLength(2);
  expect(await log.streams.read(keyed)).toHaveLength(1);
});

it('an append whose answer was lost is a success even if the stream has gone on since', async () => {
  const stream = randomUUID();
  const request = appendTo(stream, 0);
  await log.append(request);
  await log.append(appendTo(stream, 1));
  expect(await log.append(request)).toMatchObject({ status: 'appended', streams: [{ version: 1 }] });
});

it('backends terminated under load lose and double nothing', async () => {
  const streams = Array.from({ length: 60 }, () => randomUUID());
  let running = true;
  const killer = (async () => {
    while (running) {
      await database.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'test' AND query LIKE '%append%'",
      );
      await pause(40);
    }
  })();
  const writers = streams.map(async (stream) => {
    for (let version = 0; version < 20; version += 1) {
      const request = appendTo(stream, version);
      const result = await eventually(() => log.append(request).catch(() => null));
      expect(result.status).toBe('appended');
    }
  });
  await Promise.all(writers);
  running = false;
  await killer;
  for (const stream of streams) {
    const versions = (await eventually(() => log.streams.read(stream).catch(() => null))).map(
      (event) => event.version,
    );
    expect(versions).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
  }
});

/** So that a freeze finds an open connection. */
const connected = () => eventually(() => hurried.append(appendTo(randomUUID(), 0)).catch(() => null));

it('a silent Postgres causes a retryable error, and the log goes on when it answers', async () => {
  await connected();
  proxy.freeze();
  await expect(hurried.append(appendTo(randomUUID(), 0))).rejects.toMatchObject({
    code: 'log_unavailable',
    retryable: true,
  });
  await expect(hurried.status.ping()).rejects.toMatchObject({ code: 'log_unavailable' });
  proxy.thaw();
  expect((await connected()).status).toBe('appended');
});

it('a log that is opened while Postgres is away fails when it is called, not before', async () => {
  const away = openEventLog({
    url: 'postgres://nobody@127.0.0.1:1/none',
    instance: 'away',
    holder: 'away#1',
    timeouts: { retryMs: 100 },
  });
  await expect(away.append(appendTo(randomUUID(), 0))).rejects.toMatchObject({ code: 'log_unavailable' });
  await expect(away.streams.read('x')).rejects.toMatchObject({ code: 'log_unavailable' });
  await expect(away.status.check()).rejects.toMatchObject({ code: 'log_unavailable' });
  await away.close();
});

it('a full queue refuses with a retryable error instead of growing', async () => {
  await connected();
  proxy.freeze();
  const results = await Promise.allSettled(
    Array.from({ length: 20_100 }, () =>
      hurried.append({ streams: [{ streamId: randomUUID(), expectedVersion: 0, events: [] }] }),
    ),
  );
  const codes = results.map((result) => (result.status === 'rejected' ? result.reason.code : 'ok'));
  expect(codes.filter((code) => code === 'log_overloaded').length).toBeGreaterThan(0);
  expect(codes).not.toContain('ok');
});
