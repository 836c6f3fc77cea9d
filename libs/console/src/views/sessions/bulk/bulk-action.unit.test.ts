import { expect, it } from '@jest/globals';
import { type Progress, runEach } from './bulk-action.ts';

const ids = ['a', 'b', 'c', 'd', 'e', 'f'];

it('does it with every session, tells how far it is, and which were refused and why', async () => {
  const seen: Progress[] = [];
  const refuse = (id: string) => (id === 'c' ? Promise.reject(new Error('it has ended')) : Promise.resolve());
  const end = await runEach(ids, refuse, (progress) => seen.push(progress), new AbortController().signal);
  expect(end.done.toSorted()).toEqual(['a', 'b', 'd', 'e', 'f']);
  expect(end).toMatchObject({ failures: [{ id: 'c', reason: 'it has ended' }] });
  expect(seen).toHaveLength(6);
  expect(seen.at(-1)).toEqual(end);
});

it('has at most four calls on their way', async () => {
  let now = 0;
  let most = 0;
  const count = async () => {
    now += 1;
    most = Math.max(most, now);
    await Promise.resolve();
    now -= 1;
  };
  await runEach(ids, count, () => {}, new AbortController().signal);
  expect(most).toBe(4);
});

it('stops when it is told to, and what is done stays done', async () => {
  const stop = new AbortController();
  const done: string[] = [];
  await runEach(
    ids,
    async (id) => {
      done.push(id);
      stop.abort();
    },
    () => {},
    stop.signal,
  );
  expect(done.length).toBeLessThan(ids.length);
});
