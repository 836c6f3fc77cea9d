import { LONGEST_TIMER_MS } from '@angelia/waiting';
import { ModelFailure } from './model.ts';

export interface CallLimits {
  readonly stall_seconds: number;
  readonly timeout_seconds: number;
}

/** Ends a call that stalls or takes too long. The caller's own signal counts as well, with its own reason. */
export function limitCallTime(model: string, limits: CallLimits, outer: AbortSignal) {
  const own = new AbortController();
  const give = (code: 'stall' | 'timeout', seconds: number, what: string) => () =>
    own.abort(new ModelFailure(code, `model ${model}: ${what} for ${seconds} s`, { retryable: true }));
  const stalled = give('stall', limits.stall_seconds, 'no token');
  const stallMs = Math.min(limits.stall_seconds * 1000, LONGEST_TIMER_MS);
  const wholeMs = Math.min(limits.timeout_seconds * 1000, LONGEST_TIMER_MS);
  let stall = setTimeout(stalled, stallMs);
  const whole = setTimeout(give('timeout', limits.timeout_seconds, 'no complete answer'), wholeMs);
  return {
    signal: AbortSignal.any([outer, own.signal]),
    signOfLife() {
      clearTimeout(stall);
      stall = setTimeout(stalled, stallMs);
    },
    /** Where tokens cannot be seen, only the whole call has a limit. */
    withoutTokens() {
      clearTimeout(stall);
    },
    stop() {
      clearTimeout(stall);
      clearTimeout(whole);
      // A consumer that left early (an error part) must not leave the request open.
      own.abort();
    },
  };
}
