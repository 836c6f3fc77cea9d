import { describe, expect, it } from '@jest/globals';
import { afterFailure } from './retry-schedule.ts';

const policy = { retry_schedule_seconds: [5, 30, 120], max_age_seconds: 3600 };
const now = 1_000_000_000;
const middle = () => 0.5;
const failedTimes = (failures: number) => ({ failures, recordedAt: now - 1000 });

describe('after a failed attempt', () => {
  it.each([
    [0, 5],
    [1, 30],
    [2, 120],
  ])('failure %d is followed by a retry in %d s', (failures, seconds) => {
    expect(
      afterFailure(failedTimes(failures), { reason: 'http 503' }, { policy, now, random: middle }),
    ).toEqual({
      kind: 'retry',
      at: now + seconds * 1000,
      counts: true,
    });
  });

  it('the end of the schedule ends the delivery, with the last reason', () => {
    expect(afterFailure(failedTimes(3), { reason: 'http 503' }, { policy, now, random: middle })).toEqual({
      kind: 'give-up',
      reason: 'http 503; attempt 4 was the last of the schedule',
    });
  });

  it('delays vary by a fifth in both directions', () => {
    const at = (random: number) => {
      const next = afterFailure(failedTimes(1), { reason: '' }, { policy, now, random: () => random });
      return next.kind === 'retry' ? next.at - now : 0;
    };
    expect([at(0), at(0.5), at(1)]).toEqual([24_000, 30_000, 36_000]);
  });

  it('a wait that the target asked for is kept and spends no attempt, even past the schedule', () => {
    expect(
      afterFailure(
        failedTimes(3),
        { reason: 'http 429', retryAfterSeconds: 77 },
        { policy, now, random: middle },
      ),
    ).toEqual({
      kind: 'retry',
      at: now + 77_000,
      counts: false,
    });
  });

  it('a target that asks for a retry at once still gets a second', () => {
    expect(
      afterFailure(failedTimes(0), { reason: '', retryAfterSeconds: 0 }, { policy, now, random: middle }),
    ).toMatchObject({
      at: now + 1000,
    });
  });

  it('a retry past the maximum age is not made', () => {
    const old = { failures: 0, recordedAt: now - 3_598_000 };
    expect(afterFailure(old, { reason: 'http 503' }, { policy, now, random: middle })).toEqual({
      kind: 'give-up',
      reason: 'http 503; the next attempt would be past its max_age_seconds',
    });
    expect(
      afterFailure(old, { reason: 'http 429', retryAfterSeconds: 1 }, { policy, now, random: middle }),
    ).toMatchObject({
      kind: 'retry',
    });
  });
});
