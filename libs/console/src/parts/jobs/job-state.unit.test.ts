import { expect, it } from '@jest/globals';
import { type HasProgress, jobProgressText, jobShare } from './job-state.ts';

const job = (more: Partial<HasProgress>): HasProgress => ({
  status: 'running',
  matches: 50,
  matches_exact: true,
  done: 0,
  skipped: 0,
  failed: 0,
  ...more,
});

it('a job tells how far it is, with what it left out and what went wrong', () => {
  const half = job({ done: 20, skipped: 4, failed: 1 });
  expect(jobShare(half)).toBe(0.5);
  expect(jobProgressText(half)).toBe('25 of 50: 20 done, 4 skipped, 1 failed');
});

it('where the count is a lower bound, no share is claimed', () => {
  const many = job({ matches: 10_000, matches_exact: false, done: 9 });
  expect(jobShare(many)).toBeNull();
  expect(jobProgressText(many)).toBe('9 of at least 10000: 9 done');
});

it('a finished job is at its end, also if some were gone before their turn', () => {
  expect(jobShare(job({ status: 'finished', done: 48 }))).toBe(1);
  expect(jobShare(job({ status: 'cancelled', done: 25 }))).toBe(0.5);
});
