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
  it('run a limited number at once, and the next in order when a slot becomes free', async () => {
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

  it('do not become more after one is passed on', async () => {
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

  it('are released when the work fails', async () => {
    const slots = new ScriptSlots({ atOnce: 1, longestWaitMs: 60_000 });
    await expect(slots.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await slots.run(async () => 'yes')).toBe('yes');
  });

  it('refuse work that waited too long, without running it', async () => {
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

  it('refuse at once when too many wait', async () => {
    const slots = new ScriptSlots({ atOnce: 1, longestWaitMs: 60_000 });
    const { work, release } = held();
    const waiting = Array.from({ length: 65 }, () => slots.run(() => work));
    expect(await slots.run(async () => 'one too many')).toBeNull();
    release();
    await Promise.all(waiting);
  });
});
