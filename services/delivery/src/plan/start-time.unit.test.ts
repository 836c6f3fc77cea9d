import { expect, it } from '@jest/globals';
import { StartTime } from './start-time.ts';

it('is by the clock of the database, however wrong that of this host is', async () => {
  let monotonic = 1_000;
  const start = new StartTime({ monotonic: () => monotonic, wall: () => 0 });
  expect(start.at).toBeNull();
  // Postgres was away for half a minute.
  monotonic += 30_000;
  const log = { now: async () => 1_800_000_000_000 };
  expect(await start.learn(log)).toBe(1_800_000_000_000 - 30_000);
  monotonic += 5_000;
  await start.learn(log);
  expect(start.at).toBe(1_800_000_000_000 - 30_000);
});
