import { LONGEST_TIMER_MS } from '@angelia/waiting';
import { ModelFailure } from './model.ts';

interface TimeLimits {
  readonly stall_seconds: number;
  readonly timeout_seconds: number;
}

export interface CallTimer {
  tokenReceived(): void;
  /** For a call that does not stream: only the whole call has a limit. */
  withoutTokens(): void;
  /** The call is over. */
  stop(): void;
}

/**
 * Watches one call. `abort` is called at most once: with a ModelFailure when the call stalls or takes too long, and with
 * the reason of `run` when the run is stopped. It has no signal of its own: a controller, an `AbortSignal.any` and the
 * DOMException of its end take 15 us, which is half of a short call.
 */
export function limitCallTime(
  model: string,
  limits: TimeLimits,
  run: AbortSignal,
  abort: (reason: unknown) => void,
): CallTimer {
  const end = (reason: unknown) => {
    stop();
    abort(reason);
  };
  const endWith = (code: 'stall' | 'timeout', seconds: number, what: string) => () =>
    end(new ModelFailure(code, `model ${model}: ${what} for ${seconds} s`, { retryable: true }));
  const runStopped = () => end(run.reason);
  const stall = setTimeout(
    endWith('stall', limits.stall_seconds, 'no token'),
    Math.min(limits.stall_seconds * 1000, LONGEST_TIMER_MS),
  );
  const whole = setTimeout(
    endWith('timeout', limits.timeout_seconds, 'no complete answer'),
    Math.min(limits.timeout_seconds * 1000, LONGEST_TIMER_MS),
  );
  run.addEventListener('abort', runStopped);
  let watchesTokens = true;

  function stop() {
    watchesTokens = false;
    clearTimeout(stall);
    clearTimeout(whole);
    run.removeEventListener('abort', runStopped);
  }
  return {
    tokenReceived() {
      // A refresh would bring a cleared timer back.
      if (watchesTokens) stall.refresh();
    },
    withoutTokens() {
      watchesTokens = false;
      clearTimeout(stall);
    },
    stop,
  };
}
