import { expect, it } from '@jest/globals';
import { SharedAnswer } from './shared-answer.ts';

it('is computed once for all who ask at the same time, and kept for a while', async () => {
  let computed = 0;
  const shared = new SharedAnswer(async () => {
    computed += 1;
    return computed;
  }, 60_000);
  expect(await Promise.all([shared.get(), shared.get(), shared.get()])).toEqual([1, 1, 1]);
  expect(await shared.get()).toBe(1);
});

it('is computed again when it is old', async () => {
  let computed = 0;
  const shared = new SharedAnswer(async () => {
    computed += 1;
    return computed;
  }, 0);
  const real = performance.now;
  try {
    expect(await shared.get()).toBe(1);
    performance.now = () => real.call(performance) + 60_000;
    expect(await shared.get()).toBe(2);
  } finally {
    performance.now = real;
  }
});

it('is kept for twenty times as long as it took, so that it never takes more than a twentieth of the time', async () => {
  const real = performance.now;
  let now = 0;
  performance.now = () => now;
  try {
    let computed = 0;
    const shared = new SharedAnswer(async () => {
      now += 500;
      computed += 1;
      return computed;
    }, 2_000);
    expect(await shared.get()).toBe(1);
    now += 9_999;
    expect(await shared.get()).toBe(1);
    now += 1;
    expect(await shared.get()).toBe(2);
  } finally {
    performance.now = real;
  }
});

it('a failure is told to those who waited for it, and to nobody after them', async () => {
  let fails = true;
  const shared = new SharedAnswer(async () => {
    if (fails) throw new Error('away');
    return 'here';
  }, 60_000);
  const both = await Promise.allSettled([shared.get(), shared.get()]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  fails = false;
  expect(await shared.get()).toBe('here');
});
