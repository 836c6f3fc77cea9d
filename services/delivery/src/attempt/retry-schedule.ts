import type { Config } from '@angelia/contracts';
import type { SendPlan } from '@angelia/session';

type RetryPolicy = Pick<Config['delivery'], 'retry_schedule_seconds' | 'max_age_seconds'>;

type NextStep =
  | { readonly kind: 'retry'; readonly at: number; readonly counts: boolean }
  | { readonly kind: 'give-up'; readonly reason: string };

/** Each delay varies by up to this share, so that deliveries that failed together do not come back together. */
const JITTER = 0.2;
/** Even a target that always says `Retry-After: 0` gets a pause between requests. */
const MIN_FLOOD_WAIT_SECONDS = 1;

/**
 * Decides what follows a failed attempt. A wait that the target asked for spends no attempt of the schedule; only the age
 * ends it. The age is checked here and not before an attempt: an output that nobody tried yet, or that an operator asked to
 * retry, gets its attempt however old it is.
 */
export function afterFailure(
  plan: Pick<SendPlan, 'failures' | 'recordedAt'>,
  failure: { readonly reason: string; readonly retryAfterSeconds?: number },
  { policy, now, random }: { policy: RetryPolicy; now: number; random: () => number },
): NextStep {
  const asked = failure.retryAfterSeconds;
  const scheduled = policy.retry_schedule_seconds[plan.failures];
  if (asked === undefined && scheduled === undefined) {
    return {
      kind: 'give-up',
      reason: `${failure.reason}; attempt ${plan.failures + 1} was the last of the schedule`,
    };
  }
  const delaySeconds =
    asked === undefined
      ? (scheduled ?? 0) * (1 - JITTER + 2 * JITTER * random())
      : Math.max(asked, MIN_FLOOD_WAIT_SECONDS);
  const at = Math.round(now + delaySeconds * 1000);
  if (at > plan.recordedAt + policy.max_age_seconds * 1000) {
    return {
      kind: 'give-up',
      reason: `${failure.reason}; the next attempt would be past its max_age_seconds`,
    };
  }
  return { kind: 'retry', at, counts: asked === undefined };
}
