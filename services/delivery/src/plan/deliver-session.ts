import type { AddressVariables } from '@angelia/config';
import type { Config, HolderId, SessionId } from '@angelia/contracts';
import type { SendTurns } from '@angelia/event-log';
import type { AnswerLinks, Logger } from '@angelia/service-kit';
import { deliveryPlan, type SendPlan } from '@angelia/session';
import type { Clock, Loaded, Sessions } from '@angelia/sessions';
import { decideDelivery } from '../attempt/append-command.ts';
import { attemptOutput } from '../attempt/attempt-output.ts';
import { unknownTooOften } from '../attempt/unknown-outcome.ts';
import type { Verdict } from '../gate/circuits.ts';
import type { Ask, Gate, Ticket } from '../gate/send-gate.ts';
import type { SharedTurns } from '../gate/shared-rates.ts';
import type { Targets } from '../targets/registry.ts';
import { takeUpOrphanedClaim } from './abandoned-claim.ts';
import { resolveAddress } from './resolve-address.ts';

export interface DeliveryTools {
  /** By whose clock, the database's, plans are made. */
  readonly sessions: Sessions;
  /** Where turns to send are taken. */
  readonly turns: Pick<SendTurns, 'take' | 'pause'>;
  readonly targets: Targets;
  /** What the references in an address stand for. */
  readonly addressVariables: AddressVariables;
  readonly policy: Config['delivery'];
  readonly holder: HolderId;
  readonly logger: Logger;
  /** By which time left is measured. */
  readonly clock: Clock;
  readonly random: () => number;
  /** By the database's clock: an attempt of our own name from before it is a dead predecessor's. Null: not known yet. */
  readonly startedAt: () => number | null;
  /** Sessions of which something was sent that is not recorded yet; one stays here only when recording failed for good. */
  readonly unrecorded: Set<string>;
  /** Null: no agent of this config asks questions, and there is no key. */
  readonly answerLinks: Pick<AnswerLinks, 'url'> | null;
}

/** How one session's deliveries fit among the others of this process: see gate.ts. */
export interface Turnstile extends Pick<Gate, 'isDown' | 'sending' | 'leave'>, Pick<SharedTurns, 'pause'> {
  /** The turn of the next request, by all replicas together: see shared-turns.ts. */
  takeTurn: SharedTurns['take'];
  /** null: it has to wait for others, and is called when it is its turn. */
  enter(ask: Ask): Ticket | null;
  /** A claim is committed: whoever hinted need not do so again. */
  onClaimed(): void;
  /** No further claim: the service is going down. */
  closed(): boolean;
}

export interface Looked {
  /**
   * `done`: all is settled, or it is not our time: a timer, a hint or the sweep says when to look again. `waits`: not
   * our turn, see `Turnstile.enter`.
   */
  readonly kind: 'done' | 'waits';
  readonly version: number;
}

/**
 * Brings the outputs of one session to their target, in order, until the plan says wait or nothing. One read of the
 * stream, then two appends per output: the claim and its outcome. What is next is derived anew after each.
 */
export async function deliverSession(
  id: SessionId,
  tools: DeliveryTools,
  turnstile: Turnstile,
): Promise<Looked> {
  const { sessions, targets } = tools;
  let loaded: Loaded = await sessions.load(id);
  // Below every version: of a session that is gone there is none left, and nothing to do.
  for (let seen = -1; !turnstile.closed(); ) {
    if (loaded.version === seen) throw new Error(`${id}: the plan at version ${seen} leads nowhere`);
    seen = loaded.version;
    const now = await sessions.now();
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
        const { ready, address } = resolveAddress(
          plan.target,
          targets.find(plan.target.target),
          tools.addressVariables,
        );
        const enough = unknownTooOften(plan, tools.policy);
        if (enough !== null) {
          loaded = await giveUp(loaded, plan, enough, tools);
          break;
        }
        const patience = patienceFor(loaded, plan, tools);
        const ask: Ask = {
          place: ready.target.place(address, ready.settings),
          limits: ready.target.limits,
          ...(patience === null ? {} : { patientUntil: tools.clock.monotonic() + patience.until - now }),
        };
        if (patience !== null && patience.until <= now && turnstile.isDown(ask)) {
          const givenUp = await giveUp(loaded, plan, patience.reason, tools);
          if (givenUp.version > loaded.version) {
            loaded = givenUp;
            break;
          }
        }
        const ticket = turnstile.enter(ask);
        if (ticket === null) return { kind: 'waits', version: loaded.version };
        let verdict: Verdict = 'undecided';
        try {
          const attempt = { plan, ready, address, ask, now, turnstile };
          ({ loaded, verdict } = await attemptOutput(loaded, attempt, tools));
        } finally {
          turnstile.leave(ticket, verdict);
        }
        break;
      }
    }
  }
  return { kind: 'done', version: loaded.version };
}

const DOWN_TOO_LONG = 'the target is down, and was for as long as the retry schedule is';
const TOO_OLD = 'the target is down, and the next attempt would be past its max_age_seconds';

/**
 * An open circuit spends no attempts: until when that is waited for, null for ever. Who has a fallback target waits no
 * longer than the schedule would have taken; what was tried, and failed, waits until it is too old. What nobody tried,
 * or an operator asked to be tried again, gets its attempt.
 */
function patienceFor(
  loaded: Loaded,
  plan: SendPlan,
  { policy }: DeliveryTools,
): { readonly until: number; readonly reason: string } | null {
  if (plan.via === 'target' && (loaded.state.created?.fallbackTarget ?? null) !== null) {
    const seconds = policy.retry_schedule_seconds.reduce((sum, delay) => sum + delay, 0);
    return { until: plan.recordedAt + seconds * 1000, reason: DOWN_TOO_LONG };
  }
  if (plan.failures === 0) return null;
  return { until: plan.recordedAt + policy.max_age_seconds * 1000, reason: TOO_OLD };
}

/** Without another attempt. */
async function giveUp(loaded: Loaded, plan: SendPlan, reason: string, tools: DeliveryTools): Promise<Loaded> {
  const { output, via } = plan;
  const attempt = plan.attempt - 1;
  const command = { type: 'give-up-delivery', output, attempt, via, reason } as const;
  const decided = await decideDelivery(tools.sessions, loaded, command);
  if (decided.appended) {
    tools.logger.warn(
      { session_id: loaded.id, output, target: plan.target.target, reason },
      'delivery is dead',
    );
  }
  return decided.loaded;
}
