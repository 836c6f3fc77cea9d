import { AngeliaError, type EventData } from '@angelia/contracts';
import { parseRetryAfter, pause } from '@angelia/waiting';

/** A call of a model or an http agent failed. Whether and when to try again is read from it. */
export abstract class CallFailure extends AngeliaError {
  /** What the other side asks for (Retry-After). */
  abstract readonly retryAfterMs: number | null;
  /** `unavailable`: it passes. `configuration`: the operator can mend it. Null: the same request fails again, so do not wait. */
  abstract readonly reason: EventData<'run.put-off'>['reason'] | null;
}

/** INTERFACES.md: a model is tried at most 3 times within 10 s before the next of `fallback_models`. So is an http agent. */
const MAX_TRIES = 3;
const TRY_WINDOW_MS = 10_000;
/** Doubles with each try, with jitter, so that many runs that failed together do not come back together. */
const FIRST_WAIT_MS = 500;

/**
 * Repeats the call while it fails for a passing reason.
 *
 * @throws the last CallFailure, any other error at once, and the signal's reason when it is aborted
 */
export async function retryCall<T>(
  call: () => Promise<T>,
  signal: AbortSignal,
  onFailedTry: (failure: CallFailure, tries: number) => void = () => {},
): Promise<T> {
  const startedAt = performance.now();
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (error) {
      if (signal.aborted || !(error instanceof CallFailure)) throw error;
      onFailedTry(error, tries);
      const wait = msToNextTry(error, tries, performance.now() - startedAt, Math.random());
      if (wait === null) throw error;
      await pause(wait, signal);
      signal.throwIfAborted();
    }
  }
}

/** How long to wait before the next try. Null: there is none. `random` in [0, 1). */
export function msToNextTry(
  failure: Pick<CallFailure, 'retryable' | 'retryAfterMs'>,
  tries: number,
  elapsedMs: number,
  random: number,
): number | null {
  if (!failure.retryable || tries >= MAX_TRIES) return null;
  const backoff = FIRST_WAIT_MS * 2 ** (tries - 1) * (0.5 + random / 2);
  const wait = Math.max(backoff, failure.retryAfterMs ?? 0);
  // If the other side wants more time than there is, a try before that would fail.
  return elapsedMs + wait > TRY_WINDOW_MS ? null : wait;
}

/** Statuses that mean "not now": the same request may succeed in a moment. */
export function isRetryableStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 425 || status === 429 || status >= 500;
}

export function retryAfterMs(header: string | string[] | undefined): number | null {
  const seconds = parseRetryAfter(header);
  return seconds === null ? null : seconds * 1000;
}
