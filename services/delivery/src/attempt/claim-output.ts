import type { Loaded } from '@angelia/sessions';
import type { DeliveryTools } from '../plan/deliver-session.ts';
import { decideDelivery } from './append-command.ts';
import type { Attempt } from './attempt-output.ts';
import { type ClaimTimes, claimTimes, type Moment, momentOf } from './send-window.ts';

export type Claim =
  | { readonly mine: true; readonly loaded: Loaded; readonly asked: Moment; readonly times: ClaimTimes }
  | { readonly mine: false; readonly loaded: Loaded };

/** `delivery.attempted`: of two senders that want the same output one gets it, by the version of the stream. */
export async function claimOutput(
  loaded: Loaded,
  { plan, now }: Attempt,
  tools: DeliveryTools,
): Promise<Claim> {
  const times = claimTimes(tools.policy.request_timeout_seconds);
  // Before the append is sent: see send-window.ts.
  const asked = momentOf(tools.clock);
  const decided = await decideDelivery(tools.sessions, loaded, {
    type: 'attempt-delivery',
    output: plan.output,
    attempt: plan.attempt,
    sender: tools.holder,
    deadlineSeconds: times.deadlineMs / 1000,
    now,
  });
  if (!decided.appended) return { mine: false, loaded: decided.loaded };
  return { mine: true, loaded: decided.loaded, asked, times };
}
