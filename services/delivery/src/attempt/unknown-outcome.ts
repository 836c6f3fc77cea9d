import type { SendPlan } from '@angelia/session';
import type { Target } from '../targets/target.ts';
import type { RetryPolicy } from './retry-schedule.ts';

/**
 * What follows when it is not known whether the target took a message (a crash or a time-out after sending):
 *
 * - the target is idempotent: it is sent again with the same key, and nobody sees a second copy;
 * - it can be looked up: found is delivered, absent is sent again;
 * - neither tells: it is sent again, marked as a possible duplicate. A target that takes requests and does not answer
 *   is, most of the time, one that is down: an answer that nobody gets is worse than one that says it may be the second.
 *
 * A request without an answer is a failed attempt of the retry schedule, which ends it. A sender that died is not, and
 * would be made up for again and again, were it the message that kills it.
 */
const LEAST_RESENDS = 5;

/** How often an outcome may be unknown before it is given up; no less than a schedule of usual length has retries. */
function mostUnknowns({ retry_schedule_seconds }: Pick<RetryPolicy, 'retry_schedule_seconds'>): number {
  return Math.max(LEAST_RESENDS, retry_schedule_seconds.length);
}

export function unknownTooOften(
  plan: Pick<SendPlan, 'unknowns'>,
  policy: Pick<RetryPolicy, 'retry_schedule_seconds'>,
): string | null {
  if (plan.unknowns <= mostUnknowns(policy)) return null;
  return `${plan.unknowns} attempts ended without a known outcome, so that it may be there already; it is not sent again unless you ask for it`;
}

/** Whether the target must be asked before this is sent. */
export function mustLookUp(target: Target, plan: SendPlan): boolean {
  return plan.unknowns > 0 && !target.idempotent && target.lookUp !== undefined;
}
