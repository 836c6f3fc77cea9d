import type { Config } from '@angelia/contracts';
import type { SendPlan } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import { appendCommand } from '../append-command.ts';
import type { DeliveryContext } from '../delivery-context.ts';

const DOWN_TOO_LONG = 'the target is down, and has been for as long as the retry schedule lasts';
const TOO_OLD = 'the target is down, and the next attempt would be past its max_age_seconds';

interface WaitLimit {
  /** By the database's clock. */
  readonly until: number;
  readonly reason: string;
}

/**
 * How long an output waits for a target that is down. An open circuit spends no attempts, so the retry schedule does not end
 * the wait. With a fallback target, the wait is no longer than the schedule would have taken. An output that was tried and
 * failed waits until it is too old. Null, no limit: an output that nobody tried, or that an operator asked to retry, gets
 * its attempt.
 */
export function waitLimitFor(loaded: Loaded, plan: SendPlan, policy: Config['delivery']): WaitLimit | null {
  if (plan.via === 'target' && (loaded.state.created?.fallbackTarget ?? null) !== null) {
    const seconds = policy.retry_schedule_seconds.reduce((sum, delay) => sum + delay, 0);
    return { until: plan.recordedAt + seconds * 1000, reason: DOWN_TOO_LONG };
  }
  if (plan.failures === 0) return null;
  return { until: plan.recordedAt + policy.max_age_seconds * 1000, reason: TOO_OLD };
}

/** No fewer than a schedule of the usual length has retries. */
const MIN_UNKNOWNS = 5;

/**
 * The reason to give up an output because too many of its attempts ended without a known outcome. A request without an answer
 * counts against the retry schedule, which ends it. A sender that died does not: if the message itself kills the senders,
 * they would repeat it for ever.
 */
export function tooManyUnknowns(plan: SendPlan, policy: Config['delivery']): string | null {
  if (plan.unknowns <= Math.max(MIN_UNKNOWNS, policy.retry_schedule_seconds.length)) return null;
  return `${plan.unknowns} attempts ended without a known outcome, so it may have arrived; it is sent again only if you ask for it`;
}

/** Appends `delivery.dead` without another attempt. */
export async function giveUp(
  loaded: Loaded,
  plan: SendPlan,
  reason: string,
  context: DeliveryContext,
): Promise<Loaded> {
  const { output, via } = plan;
  const attempt = plan.attempt - 1;
  const command = { type: 'give-up-delivery', output, attempt, via, reason } as const;
  const result = await appendCommand(context.sessions, loaded, command);
  if (result.kind === 'appended') {
    context.logger.warn(
      { session_id: loaded.id, output, target: plan.target.target, reason },
      'delivery is dead',
    );
  }
  return result.loaded;
}
