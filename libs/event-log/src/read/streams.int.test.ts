import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type EventLog, openEventLog } from '../event-log.ts';
import { appendTo, someEvent } from '../testing/some-events.ts';
import { createTestDatabase, type TestDatabase } from '../testing/test-database.ts';

let database: TestDatabase;
let log: EventLog;

beforeAll(async () => {
  database = await createTestDatabase();
  log = openEventLog({ url: database.url, instance: 'test', holder: 'test#1' });
  for (const [name, events] of Object.entries({
    'job-a': 1,
    'job-b': 2,
    'job-c': 3,
    'job-d': 7,
    'key-x': 1,
  })) {
    const types = Array.from({ length: events }, (_, n) => someEvent(`test.${n + 1}`));
    await log.append(appendTo(name, 0, types));
  }
});
afterAll(async () => {
  await log.close();
  await database.drop();
});

it('the ends of a stream are its first two and its last two events, each once and in order', async () => {
  const versions = async (name: string) => (await log.streams.readEnds(name)).map(({ version }) => version);
  expect(await Promise.all(['job-a', 'job-b', 'job-c', 'job-d', 'nothing'].map(versions))).toEqual([
    [1],
    [1, 2],
    [1, 2, 3],
    [1, 2, 6, 7],
    [],
  ]);
});

it('streams of a range come last first, each once with its last event, as many as wanted', async () => {
  const heads = (to: string, limit: number) => log.streams.heads({ from: 'job-', to, limit });
  expect(await heads('job.', 10)).toEqual([
    { streamId: 'job-d', type: 'test.7' },
    { streamId: 'job-c', type: 'test.3' },
    { streamId: 'job-b', type: 'test.2' },
    { streamId: 'job-a', type: 'test.1' },
  ]);
  expect((await heads('job-c', 1)).map(({ streamId }) => streamId)).toEqual(['job-b']);
  expect(await heads('job-a', 5)).toEqual([]);
});
