import { LONGEST_TIMER_MS } from '@angelia/waiting';
import { ModelFailure } from './model.ts';

interface CallTimeLimits {
  readonly stall_seconds: number;
  readonly timeout_seconds: number;
}

/** Ends a call that stalls or takes too long. The caller's signal ends it as well, with its own reason. */
export function limitCallTime(model: string, limits: CallTimeLimits, outer: AbortSignal) {
  const own = new AbortController();
  const abortWith = (code: 'stall' | 'timeout', seconds: number, what: string) => () =>
    own.abort(new ModelFailure(code, `model ${model}: ${what} for ${seconds} s`, { retryable: true }));
  const stalled = abortWith('stall', limits.stall_seconds, 'no token');
  const stallMs = Math.min(limits.stall_seconds * 1000, LONGEST_TIMER_MS);
  const wholeMs = Math.min(limits.timeout_seconds * 1000, LONGEST_TIMER_MS);
  let stall = setTimeout(stalled, stallMs);
  const whole = setTimeout(abortWith('timeout', limits.timeout_seconds, 'no complete answer'), wholeMs);
  return {
    signal: AbortSignal.any([outer, own.signal]),
    tokenReceived() {
      clearTimeout(stall);
      stall = setTimeout(stalled, stallMs);
    },
    /** For a call that does not stream: only the whole call has a limit. */
    withoutTokens() {
      clearTimeout(stall);
    },
    stop() {
      clearTimeout(stall);
      clearTimeout(whole);
      // A caller that stopped reading early (an error part) must not leave the request open.
      own.abort();
    },
  };
}
