import { expect, it } from '@jest/globals';
import { queryTrouble } from './query-trouble.ts';

const failed = (times: number, { shown = true } = {}) => ({
  isActive: () => shown,
  state: { fetchFailureCount: times, fetchFailureReason: times === 0 ? null : new Error('no disk') },
});

it('a page says why it stands still once an attempt and its repetition failed', () => {
  expect(queryTrouble([failed(0), failed(2)])?.message).toBe('no disk');
  expect(queryTrouble([failed(0), failed(1)])).toBeNull();
});

it('what is no longer shown is no trouble', () => {
  expect(queryTrouble([failed(5, { shown: false })])).toBeNull();
});
