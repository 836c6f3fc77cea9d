import type { SendPlan } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import { appendCommand } from '../append-command.ts';
import type { DeliveryContext } from '../delivery-context.ts';
import { type ClaimTimes, type ClockReading, claimTimes, readClocks } from './send-window.ts';

interface ClaimInput {
  readonly loaded: Loaded;
  readonly plan: SendPlan;
  readonly plannedAt: number;
  /** The message has buttons, which are to disappear once the question is closed. */
  readonly buttons: boolean;
}

/** Our right to send one output, for as long as `times` says. */
export interface Claim {
  readonly loaded: Loaded;
  /** Read before the claim's append was sent: see send-window.ts. */
  readonly requestedAt: ClockReading;
  readonly times: ClaimTimes;
}

type ClaimResult =
  | { readonly kind: 'claimed'; readonly claim: Claim }
  /** Another sender was faster, or the session changed. */
  | { readonly kind: 'lost'; readonly loaded: Loaded };

/** Appends `delivery.attempted`. If two senders want the same output, the version of the stream lets one of them win. */
export async function claimOutput(
  { loaded, plan, plannedAt, buttons }: ClaimInput,
  context: DeliveryContext,
): Promise<ClaimResult> {
  const times = claimTimes(context.policy.request_timeout_seconds);
  const requestedAt = readClocks(context.clock);
  const result = await appendCommand(context.sessions, loaded, {
    type: 'attempt-delivery',
    output: plan.output,
    attempt: plan.attempt,
    sender: context.holder,
    deadlineSeconds: times.deadlineMs / 1000,
    buttons,
    now: plannedAt,
  });
  return result.kind === 'appended'
    ? { kind: 'claimed', claim: { loaded: result.loaded, requestedAt, times } }
    : { kind: 'lost', loaded: result.loaded };
}
