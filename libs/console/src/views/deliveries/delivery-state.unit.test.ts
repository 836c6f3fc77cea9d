import { expect, it } from '@jest/globals';
import { attemptsText, retryFilterOf } from './delivery-state.ts';

it('the filter of the list is the filter of the job, which knows no other state than dead', () => {
  expect(retryFilterOf({ status: 'dead', target: 'telegram', since: '2026-11-18T14:00:00.000Z' })).toEqual({
    target: 'telegram',
    since: '2026-11-18T14:00:00.000Z',
  });
  expect(retryFilterOf({})).toEqual({});
});

it('attempts are counted in words', () => {
  expect([0, 1, 7].map((attempts) => attemptsText({ attempts }))).toEqual([
    'no attempt yet',
    '1 attempt',
    '7 attempts',
  ]);
});
