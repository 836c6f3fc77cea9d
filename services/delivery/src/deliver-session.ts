import type { Config, HolderId, SessionId } from '@angelia/contracts';
import type { AnswerLinks, Loaded, Logger, Sessions } from '@angelia/service-kit';
import { deliveryPlan } from '@angelia/session';
import { attemptOutput } from './attempt-output.ts';
import { decideDelivery } from './decide-delivery.ts';
import type { LogClock } from './log-clock.ts';
import { takeUpOrphanedClaim } from './orphaned-claim.ts';
import type { Clock } from './send-window.ts';
import type { Targets } from './targets/registry.ts';
import type { TargetAddress } from './targets/target.ts';

export interface DeliveryTools {
  readonly sessions: Sessions;
  readonly targets: Targets;
  readonly policy: Config['delivery'];
  readonly holder: HolderId;
  readonly logger: Logger;
  /** By which plans are made. */
  readonly logClock: LogClock;
  /** By which time left is measured. */
  readonly clock: Clock;
  readonly random: () => number;
  /** By logClock: an attempt of our own name from before it is a dead predecessor's. */
  readonly startedAt: number;
  /** Sessions of which something was sent that is not recorded yet; one stays here only when recording failed for good. */
  readonly unrecorded: Set<string>;
  /** Null: no agent of this config asks questions, and there is no key. */
  readonly answerLinks: Pick<AnswerLinks, 'url'> | null;
}

/** How one session's deliveries fit among the others of this process. */
export interface Turnstile {
  /** False: so many are being sent to this destination that this one has to wait. */
  enter(destination: string): boolean;
  leave(destination: string): void;
  /** A claim is committed: whoever hinted need not do so again. */
  onClaimed(): void;
  /** No further claim: the service is going down. */
  closed(): boolean;
}

export type Looked =
  /** All is settled, or it is not our time or turn: a timer, a hint or the sweep says when to look again. */
  | { readonly kind: 'done'; readonly version: number }
  | { readonly kind: 'full'; readonly destination: string };

/**
 * Brings the outputs of one session to their target, in order, until the plan says wait or nothing. One read of the
 * stream, then two appends per output: the claim and its outcome. What is next is derived anew after each.
 */
export async function deliverSession(
  id: SessionId,
  tools: DeliveryTools,
  turnstile: Turnstile,
): Promise<Looked> {
  const { sessions, targets, logClock } = tools;
  let loaded: Loaded = await sessions.load(id);
  for (let seen = 0; !turnstile.closed(); ) {
    if (loaded.version === seen) throw new Error(`${id}: the plan at version ${seen} leads nowhere`);
    seen = loaded.version;
    const now = logClock.now();
    const plan = deliveryPlan(loaded.state, now);
    switch (plan.action) {
      case 'nothing':
        return { kind: 'done', version: loaded.version };
      case 'wait': {
        const freed = await takeUpOrphanedClaim(loaded, plan.output, tools);
        if (freed === null) return { kind: 'done', version: loaded.version };
        loaded = freed;
        break;
      }
      case 'drop':
        loaded = (await decideDelivery(sessions, loaded, { type: 'drop-delivery', output: plan.output, now }))
          .loaded;
        break;
      case 'send': {
        const ready = targets.find(plan.target.target);
        const address: TargetAddress = { to: plan.target.to, untrusted: plan.target.untrusted_address };
        const destination = ready.target.destination(address);
        if (!turnstile.enter(destination)) return { kind: 'full', destination };
        try {
          const onClaimed = () => turnstile.onClaimed();
          loaded = await attemptOutput(loaded, { plan, ready, address, now, onClaimed }, tools);
        } finally {
          turnstile.leave(destination);
        }
        break;
      }
    }
  }
  return { kind: 'done', version: loaded.version };
}
