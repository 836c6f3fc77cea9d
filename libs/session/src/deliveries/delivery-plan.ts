import type { DeliveryTarget } from '@angelia/contracts';
import type { OpenOutput, OutputKind, SessionState } from '../state.ts';

/**
 * Which output is next, and what to do about it (invariant in-order-once).
 *
 *   pending --attempted--> attempting --succeeded--> delivered
 *   attempting --chunk-taken--> attempting     a long output is several messages; a retry continues after the last taken
 *   attempting --failed--> retry (at retry_at) --attempted--> attempting
 *   attempting, past its deadline: outcome unknown --attempted, possible duplicate--> attempting
 *   pending | attempting | retry --dead--> pending via the fallback target if there is one, else dead
 *   dead --retry-requested--> pending
 *   pending | retry --dropped--> dropped
 *
 * A session sends one output at a time, in log order: an output that waits holds back the later ones. Interim statuses must
 * not delay an answer that way. Each gets one attempt. If that fails, and there is a newer output or its turn is
 * answered, it is dropped. Dead outputs hold back nothing.
 */
type DeliveryPlan =
  | SendPlan
  /** Somebody is sending it, or its retry is not due. Check again at `until`. */
  | { readonly action: 'wait'; readonly output: number; readonly until: number }
  | { readonly action: 'drop'; readonly output: number; readonly reason: string }
  | { readonly action: 'nothing' };

export interface SendPlan {
  readonly action: 'send';
  readonly output: number;
  readonly kind: OutputKind;
  readonly turn: number;
  readonly attempt: number;
  readonly via: 'target' | 'fallback_target';
  readonly target: DeliveryTarget;
  /** Number of its messages that the target already has, if it is split into several. */
  readonly taken: number;
  /** Attempts at the next message that ended with an unknown outcome. If not 0, it may have arrived already. */
  readonly unknowns: number;
  /** An earlier attempt may have reached the platform. */
  readonly possibleDuplicate: boolean;
  /** Failed attempts that used up the retry schedule so far: the index of the next delay in it. */
  readonly failures: number;
  /** When the output was recorded. For `max_age_seconds`. */
  readonly recordedAt: number;
}

export function deliveryPlan(state: SessionState, now: number): DeliveryPlan {
  const created = state.created;
  const next = state.outputs.find((output) => output.status !== 'dead');
  if (next === undefined || created === null) return { action: 'nothing' };
  // Not always `next`: a dead output may be revived while a later one is being sent.
  const sending = state.outputs.find((output) => output.status === 'attempting' && now < output.until);
  if (sending !== undefined) return wait(sending);

  const reason = dropReason(state, next);
  if (reason !== null) return { action: 'drop', output: next.output, reason };
  if (next.status === 'retry' && now < next.until) return wait(next);

  const unknowns = next.unknowns + (next.status === 'attempting' ? 1 : 0);
  return {
    action: 'send',
    output: next.output,
    kind: next.kind,
    turn: next.turn,
    attempt: next.attempts + 1,
    via: next.via,
    target: next.via === 'fallback_target' ? (created.fallbackTarget ?? created.deliver) : created.deliver,
    taken: next.taken,
    unknowns,
    possibleDuplicate: unknowns > 0,
    failures: next.failures,
    recordedAt: next.recordedAt,
  };
}

function wait(output: OpenOutput): DeliveryPlan {
  return { action: 'wait', output: output.output, until: output.until };
}

/** Why this output must not be sent any more. Only called when nobody is sending it. */
function dropReason(state: SessionState, output: OpenOutput): string | null {
  switch (output.kind) {
    case 'final-response':
      return null;
    case 'clarification':
      return state.clarification?.output === output.output ? null : 'the question is closed';
    case 'approval':
      return state.approval?.output === output.output ? null : 'the request for approval is closed';
    case 'interim-status':
      if (state.created?.interim === 'off') return 'interim statuses are off';
      if (!hadItsAttempt(output)) return null;
      if (state.lastOutput > output.output) return 'a later output followed';
      return state.turns.some((turn) => turn.turn === output.turn) ? null : 'its turn is over';
  }
}

/** An attempt with an unknown outcome is repeated once. A definite failure, or a second unknown one, counts as the attempt. */
function hadItsAttempt(output: OpenOutput): boolean {
  if (output.status === 'attempting') return output.attempts > 1;
  return output.attempts > 0 || output.reason !== null;
}
