import { accept, alreadyDone, type Decision, fact, type Refused, refuse } from '../decision.ts';
import type { OpenOutput, SessionState } from '../state.ts';
import { iso } from '../time.ts';
import { deliveryPlan } from './delivery-plan.ts';

/**
 * Deliveries: records what delivery-plan.ts says. An attempt is a claim: it is checked against the plan for the current
 * state, so that one of two senders is refused. Deliveries go on after the end of the session.
 */
export interface AttemptDelivery {
  readonly type: 'attempt-delivery';
  readonly output: number;
  /** As in the plan. */
  readonly attempt: number;
  readonly sender: string;
  /** Longer than the time limit of the request. After it the outcome is unknown. */
  readonly deadlineSeconds: number;
  /** The message has buttons, and the target can edit it. */
  readonly buttons?: boolean;
  readonly now: number;
}

export interface TakeChunk {
  readonly type: 'take-chunk';
  readonly output: number;
  readonly attempt: number;
  /** Starts at 1. The last chunk is recorded by `succeed-delivery`. */
  readonly chunk: number;
  readonly chunks: number;
  readonly receipt?: string | null;
  /** For the next chunk, as in `attempt-delivery`. */
  readonly deadlineSeconds: number;
}

export interface SucceedDelivery {
  readonly type: 'succeed-delivery';
  readonly output: number;
  readonly attempt: number;
  readonly receipt?: string | null;
}

export interface FailDelivery {
  readonly type: 'fail-delivery';
  readonly output: number;
  readonly attempt: number;
  readonly reason: string;
  readonly retryAt: number;
  /** False for a flood wait, which does not use up the retry schedule. */
  readonly counts?: boolean;
  /** The request was sent and no response came. Whatever is sent from now on may be a second copy. */
  readonly unknown?: boolean;
}

/** The schedule is used up, the output is too old, or the platform refuses for good. Goes on at the fallback target, if any. */
export interface GiveUpDelivery {
  readonly type: 'give-up-delivery';
  readonly output: number;
  /** The last attempt. 0 if none could be made (the target cannot be resolved). */
  readonly attempt: number;
  /** Which of the two targets to give up, as in the plan. */
  readonly via: 'target' | 'fallback_target';
  readonly reason: string;
}

export interface DropDelivery {
  readonly type: 'drop-delivery';
  readonly output: number;
  readonly now: number;
}

export interface RetryDelivery {
  readonly type: 'retry-delivery';
  readonly output: number;
  readonly by: string;
}

export function attemptDelivery(state: SessionState, command: AttemptDelivery): Decision {
  const plan = deliveryPlan(state, command.now);
  if (plan.action === 'wait' && plan.output === command.output) {
    return refuse('delivery_claimed', `output ${plan.output} is being sent, or its retry is not due`);
  }
  if (plan.action !== 'send' || plan.output !== command.output) {
    return refuse('not_next_output', `output ${command.output} is not the next one to send`);
  }
  if (plan.attempt !== command.attempt) {
    return refuse('stale_attempt', `attempt ${plan.attempt} is next, not ${command.attempt}`);
  }
  return accept(
    fact('delivery.attempted', {
      output: plan.output,
      attempt: plan.attempt,
      target: plan.target.target,
      via: plan.via,
      sender: command.sender,
      deadline_seconds: command.deadlineSeconds,
      possible_duplicate: plan.possibleDuplicate,
      ...(command.buttons ? { buttons: true } : {}),
    }),
  );
}

export function takeChunk(state: SessionState, command: TakeChunk): Decision {
  const output = requireUnsettled(state, command.output);
  if (!output.ok) return output;
  // This renews the claim, so only its holder may do it.
  if (command.attempt !== output.attempts) {
    return refuse('stale_attempt', `attempt ${output.attempts} is the current one, not ${command.attempt}`);
  }
  if (command.chunk <= output.taken) return alreadyDone;
  if (
    output.status !== 'attempting' ||
    command.chunk !== output.taken + 1 ||
    command.chunk >= command.chunks
  ) {
    return refuse('stale_attempt', `chunk ${output.taken + 1} is next, not ${command.chunk}`);
  }
  return accept(
    fact('delivery.chunk-taken', {
      output: output.output,
      attempt: command.attempt,
      chunk: command.chunk,
      chunks: command.chunks,
      receipt: command.receipt ?? null,
      deadline_seconds: command.deadlineSeconds,
    }),
  );
}

export function succeedDelivery(state: SessionState, command: SucceedDelivery): Decision {
  const output = requireUnsettled(state, command.output);
  if (!output.ok) return output;
  // An earlier attempt counts too: if the platform took it, that is true whenever we learn of it.
  if (command.attempt > output.attempts) {
    return refuse('stale_attempt', `attempt ${command.attempt} was not started`);
  }
  return accept(
    fact('delivery.succeeded', {
      output: output.output,
      attempt: command.attempt,
      receipt: command.receipt ?? null,
    }),
  );
}

export function failDelivery(state: SessionState, command: FailDelivery): Decision {
  const output = requireUnsettled(state, command.output);
  if (!output.ok) return output;
  if (command.attempt !== output.attempts) {
    return refuse('stale_attempt', `attempt ${output.attempts} is the current one, not ${command.attempt}`);
  }
  if (output.status !== 'attempting') return alreadyDone;
  return accept(
    fact('delivery.failed', {
      output: output.output,
      attempt: command.attempt,
      reason: command.reason,
      retry_at: iso(command.retryAt),
      counts: command.counts ?? true,
      unknown: command.unknown ?? false,
    }),
  );
}

export function giveUpDelivery(state: SessionState, command: GiveUpDelivery): Decision {
  const output = requireUnsettled(state, command.output);
  if (!output.ok) return output;
  if (command.attempt !== output.attempts || command.via !== output.via) {
    return refuse('stale_attempt', `attempt ${output.attempts} is the current one, not ${command.attempt}`);
  }
  // Otherwise a repeated command would undo a requested retry.
  const revived = output.status === 'pending' && output.via === 'target' && output.reason !== null;
  if (revived) return refuse('stale_attempt', 'a retry was requested: start an attempt first');
  return accept(
    fact('delivery.dead', { output: output.output, attempt: command.attempt, reason: command.reason }),
  );
}

export function dropDelivery(state: SessionState, command: DropDelivery): Decision {
  const plan = deliveryPlan(state, command.now);
  if (plan.action !== 'drop' || plan.output !== command.output) {
    return refuse('not_next_output', `output ${command.output} is not to be dropped`);
  }
  return accept(fact('delivery.dropped', { output: plan.output, reason: plan.reason }));
}

export function retryDelivery(state: SessionState, command: RetryDelivery): Decision {
  const output = state.outputs.find((o) => o.output === command.output);
  if (output === undefined) {
    return command.output <= state.version && state.created !== null
      ? refuse('delivery_settled', `output ${command.output} is settled or does not exist`)
      : refuse('unknown_output', `there is no output ${command.output}`);
  }
  if (output.status !== 'dead') return alreadyDone;
  const turnIsOpen = state.turns.some((turn) => turn.turn === output.turn);
  if (output.kind === 'interim-status' && (state.lastOutput > output.output || !turnIsOpen)) {
    return refuse('too_late', 'a later output exists, so this interim status is no longer sent');
  }
  if (output.kind === 'clarification' && state.clarification?.output !== output.output) {
    return refuse('too_late', 'the question is closed');
  }
  if (output.kind === 'approval' && state.approval?.output !== output.output) {
    return refuse('too_late', 'the request for approval is closed');
  }
  return accept(fact('delivery.retry-requested', { output: output.output, by: command.by }));
}

function requireUnsettled(state: SessionState, version: number): ({ ok: true } & OpenOutput) | Refused {
  const output = state.outputs.find((o) => o.output === version);
  if (output === undefined || output.status === 'dead') {
    return refuse('delivery_settled', `output ${version} is settled or does not exist`);
  }
  return { ok: true, ...output };
}
