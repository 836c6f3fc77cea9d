import { expect, it } from '@jest/globals';
import { Bell, pause } from './bell.ts';

it('a ring while nobody waits is kept for the next wait, once', async () => {
  const bell = new Bell();
  bell.ring();
  bell.ring();
  expect(await bell.wait(60_000)).toBe(true);
  expect(await bell.wait(1)).toBe(false);
});

it('a ring wakes who waits, an abort too', async () => {
  const bell = new Bell();
  const waiting = bell.wait(60_000);
  bell.ring();
  expect(await waiting).toBe(true);
  const stopping = new AbortController();
  const stopped = bell.wait(60_000, stopping.signal);
  stopping.abort();
  expect(await stopped).toBe(false);
  expect(await bell.wait(60_000, stopping.signal)).toBe(false);
  await pause(60_000, stopping.signal);
});
