import { expect, it } from '@jest/globals';
import { StartTime } from './start-time.ts';

it("the start time is by the database's clock, however wrong this host's is", async () => {
  let monotonic = 1_000;
  const clock = { monotonic: () => monotonic, wall: () => 0 };
  const sessions = { now: async () => 1_800_000_000_000 };
  const start = new StartTime(sessions, clock);
  expect(start.at).toBeNull();
  // Postgres was away for half a minute.
  monotonic += 30_000;
  expect(await start.learn()).toBe(1_800_000_000_000 - 30_000);
  monotonic += 5_000;
  await start.learn();
  expect(start.at).toBe(1_800_000_000_000 - 30_000);
});
