import { describe, expect, it } from '@jest/globals';
import { ScriptSlots } from './script-slots.ts';

const held = () => {
  let release = () => {};
  const work = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { work, release };
};

describe('script slots', () => {
  it('lets so many run at once, and the next when a place comes free, in order', async () => {
    const slots = new ScriptSlots({ atOnce: 2, longestWaitMs: 60_000 });
    const began: number[] = [];
    const works = [held(), held(), held(), held()];
    const all = works.map(({ work }, n) =>
      slots.run(async () => {
        began.push(n);
        await work;
        return n;
      }),
    );
    await Promise.resolve();
    expect(began).toEqual([0, 1]);
    works[1]?.release();
    expect(await all[1]).toBe(1);
    works[0]?.release();
    works[2]?.release();
    works[3]?.release();
    expect(await Promise.all(all)).toEqual([0, 1, 2, 3]);
    expect(began).toEqual([0, 1, 2, 3]);
  });

  it('has no more places after one was handed on', async () => {
    const slots = new ScriptSlots({ atOnce: 1, longestWaitMs: 60_000 });
    const began: number[] = [];
    const works = [held(), held(), held()];
    const begin = (n: number) =>
      slots.run(async () => {
        began.push(n);
        await works[n]?.work;
      });
    const first = begin(0);
    const second = begin(1);
    works[0]?.release();
    await first;
    await Promise.resolve();
    const third = begin(2);
    expect(began).toEqual([0, 1]);
    works[1]?.release();
    works[2]?.release();
    await Promise.all([second, third]);
    expect(began).toEqual([0, 1, 2]);
  });

  it('gives the place back when the work fails', async () => {
    const slots = new ScriptSlots({ atOnce: 1, longestWaitMs: 60_000 });
    await expect(slots.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await slots.run(async () => 'yes')).toBe('yes');
  });

  it('turns away who waited too long, and nothing is run for them', async () => {
    const slots = new ScriptSlots({ atOnce: 1, longestWaitMs: 5 });
    const { work, release } = held();
    const first = slots.run(() => work);
    let ran = false;
    expect(
      await slots.run(async () => {
        ran = true;
      }),
    ).toBeNull();
    release();
    await first;
    expect(ran).toBe(false);
    expect(await slots.run(async () => 'next')).toBe('next');
  });

  it('turns away at once when too many wait', async () => {
    const slots = new ScriptSlots({ atOnce: 1, longestWaitMs: 60_000 });
    const { work, release } = held();
    const waiting = Array.from({ length: 65 }, () => slots.run(() => work));
    expect(await slots.run(async () => 'one too many')).toBeNull();
    release();
    await Promise.all(waiting);
  });
});
