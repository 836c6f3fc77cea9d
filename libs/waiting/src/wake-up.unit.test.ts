import { expect, it } from '@jest/globals';
import { pause } from './pause.ts';
import { WakeUp } from './wake-up.ts';
import { LATE, within } from './within.ts';

it('a wake-up while nobody waits is kept for the next wait, once', async () => {
  const wakeUp = new WakeUp();
  wakeUp.wake();
  wakeUp.wake();
  expect(await wakeUp.wait(60_000)).toBe(true);
  expect(await wakeUp.wait(1)).toBe(false);
});

it('a wake-up ends a wait, and so does an abort', async () => {
  const wakeUp = new WakeUp();
  const waiting = wakeUp.wait(60_000);
  wakeUp.wake();
  expect(await waiting).toBe(true);
  const stopping = new AbortController();
  const stopped = wakeUp.wait(60_000, stopping.signal);
  stopping.abort();
  expect(await stopped).toBe(false);
  expect(await wakeUp.wait(60_000, stopping.signal)).toBe(false);
});

it('a pause ends early when its signal is aborted, and can be longer than the longest timer', async () => {
  const stopping = new AbortController();
  const pausing = pause(Number.MAX_SAFE_INTEGER, stopping.signal);
  stopping.abort();
  await pausing;
  await pause(60_000, stopping.signal);
});

it('a time limit gives the result, the error, or LATE', async () => {
  expect(await within(60_000, Promise.resolve(7))).toBe(7);
  await expect(within(60_000, Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  expect(await within(1, new Promise(() => {}))).toBe(LATE);
});
