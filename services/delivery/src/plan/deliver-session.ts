import type { SessionId } from '@angelia/contracts';
import { deliveryPlan, type SendPlan } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import type { Verdict } from '@angelia/waiting';
import { appendCommand } from '../append-command.ts';
import { attemptOutput } from '../attempt/attempt-output.ts';
import type { DeliveryContext } from '../delivery-context.ts';
import type { SendIntent } from '../gate/send-gate.ts';
import type { SessionGate } from '../gate/session-gate.ts';
import { updateQuestion } from '../update/update-question.ts';
import { releaseAbandonedClaim } from './abandoned-claim.ts';
import { giveUp, tooManyUnknowns, waitLimitFor } from './give-up.ts';
import { resolveAddress } from './resolve-address.ts';

interface SessionResult {
  /**
   * `done`: everything is settled, or not due: a timer, a hint or the sweep brings the session back. `waiting`: the session
   * waits at the gate, which wakes it. `config-changed`: look again, with the config that is in force now.
   */
  readonly kind: 'done' | 'waiting' | 'config-changed';
  /** The session as it was seen. */
  readonly loaded: Loaded;
}

type Step =
  | { readonly kind: 'continue'; readonly loaded: Loaded }
  | { readonly kind: 'done' }
  | { readonly kind: 'waiting' }
  | { readonly kind: 'config-changed' };

/**
 * Delivers the outputs of one session, in order, until the plan says wait or nothing, and edits questions that are closed. It costs one read of the stream, then
 * two appends per output: the claim and its outcome. After each, the next step is derived anew.
 *
 * @param known the session as it was read a moment ago
 */
export async function deliverSession(
  id: SessionId,
  gate: SessionGate,
  context: DeliveryContext,
  known: Loaded | null = null,
): Promise<SessionResult> {
  let loaded: Loaded = known ?? (await context.sessions.load(id));
  // Below every version: a session that was pruned has version 0 and nothing to do.
  for (let seen = -1; !gate.draining(); ) {
    if (loaded.version === seen) throw new Error(`${id}: the plan at version ${seen} makes no progress`);
    seen = loaded.version;
    const step = await nextStep(loaded, gate, context);
    if (step.kind !== 'continue') return { kind: step.kind, loaded };
    loaded = step.loaded;
  }
  return { kind: 'done', loaded };
}

async function nextStep(loaded: Loaded, gate: SessionGate, context: DeliveryContext): Promise<Step> {
  const now = await context.sessions.now();
  const plan = deliveryPlan(loaded.state, now);
  switch (plan.action) {
    case 'nothing':
      return await updateQuestion(loaded, now, gate, context);
    case 'wait': {
      const released = await releaseAbandonedClaim(loaded, plan.output, context);
      if (released !== null) return { kind: 'continue', loaded: released };
      return await updateQuestion(loaded, now, gate, context);
    }
    case 'drop': {
      const command = { type: 'drop-delivery', output: plan.output, now } as const;
      return { kind: 'continue', loaded: (await appendCommand(context.sessions, loaded, command)).loaded };
    }
    case 'send':
      return await send({ loaded, plan, now }, gate, context);
  }
}

async function send(
  { loaded, plan, now }: { readonly loaded: Loaded; readonly plan: SendPlan; readonly now: number },
  gate: SessionGate,
  context: DeliveryContext,
): Promise<Step> {
  const { policy, targets } = context;
  // ingress takes a changed file by itself, and may have accepted the session before this service has seen the change.
  const { target: name } = plan.target;
  if (!targets.has(name) && (await context.hasTargetByNow?.(name))) return { kind: 'config-changed' };
  const found = targets.find(name);
  const { configured, address } = resolveAddress(plan.target, found, context.addressVariables);
  const unknowns = tooManyUnknowns(plan, policy);
  if (unknowns !== null) return { kind: 'continue', loaded: await giveUp(loaded, plan, unknowns, context) };

  const limit = waitLimitFor(loaded, plan, policy);
  const intent: SendIntent = {
    destination: configured.target.destination(address, configured.settings),
    limits: configured.target.limits,
    writtenAt: plan.recordedAt,
    ...(limit === null ? {} : { givesUpAt: context.clock.monotonic() + limit.until - now }),
  };
  if (limit !== null && limit.until <= now && gate.isDown(intent)) {
    const givenUp = await giveUp(loaded, plan, limit.reason, context);
    if (givenUp.version > loaded.version) return { kind: 'continue', loaded: givenUp };
  }

  const entry = gate.enter(intent);
  if (entry === null) return { kind: 'waiting' };
  let verdict: Verdict = 'undecided';
  try {
    const input = { loaded, plan, plannedAt: now, configured, address, intent, gate };
    const attempted = await attemptOutput(input, context);
    verdict = attempted.verdict;
    return { kind: 'continue', loaded: attempted.loaded };
  } finally {
    gate.leave(entry, verdict);
  }
}
