import type { EventData } from '@angelia/contracts';
import { accept, type Decision, fact, refuse } from '../decision.ts';
import { withEnd } from '../ending/decide-ending.ts';
import { refuseUnlessOpen, requireOpenRun } from '../guards.ts';
import { openApproval, type SessionState } from '../state.ts';
import { iso } from '../time.ts';

/**
 * Runs: attempts at the first turn in the queue, one at a time (invariant single-owner).
 *
 *   (none) --run.started n--> open(n)
 *   open(n) --run.started n+1, takeover--> open(n+1)     n's lease expired; appends of n are refused from now on
 *   open(n) --model.responded, tool.*--> open(n)         its steps: steps/decide-steps.ts
 *   open(n) --run.interrupted--> (none)                  resumed by `recover`, not counted as an attempt
 *   open(n) --run.put-off--> (none)                      no model can be used; `recover` waits, not counted as an attempt
 *   open(n) --clarification.requested--> (none), and approval.requested: the session waits without holding a runner
 *   open(n) --final-response--> (none)                   answered; preceded by `run.failed` if it failed
 *   open(n) --run.cancelled--> (none)
 */
export interface StartRun {
  readonly type: 'start-run';
  /** The generation to open: `state.generation + 1`. Naming it makes a repeated command harmless. */
  readonly generation: number;
  readonly turn: number;
  readonly runner: string;
  readonly resumed: boolean;
  readonly attempt: number;
  /** The lease of the open run has expired by the database's clock: take over from it. */
  readonly takeover: boolean;
}

export interface InterruptRun {
  readonly type: 'interrupt-run';
  readonly generation: number;
  readonly reason: EventData<'run.interrupted'>['reason'];
  /** How long ago the work stopped, if that could not be recorded at once. */
  readonly silentSeconds?: number;
}

export interface PutOffRun {
  readonly type: 'put-off-run';
  readonly generation: number;
  readonly reason: EventData<'run.put-off'>['reason'];
  readonly retryAt: number;
  readonly models: EventData<'run.put-off'>['models'];
}

export interface FailRun {
  readonly type: 'fail-run';
  readonly generation: number;
  /** Stable, e.g. `models_failed`, `timeout`, `max_steps`, `budget`, `agent_missing`. */
  readonly code: string;
  /** For the operator; no secrets. */
  readonly message: string;
  /** What the user reads: one sentence, without the raw error. */
  readonly text: string;
}

/** Used when a failure comes without a text. A failure must not be silent. */
const DEFAULT_FAILURE_TEXT = 'Sorry, this could not be finished because of an error.';

export function startRun(state: SessionState, command: StartRun): Decision {
  const refusal = refuseUnlessOpen(state);
  if (refusal !== null) return refusal;
  if (command.generation !== state.generation + 1) {
    return refuse(
      'stale_generation',
      `the next generation is ${state.generation + 1}, not ${command.generation}`,
    );
  }
  if (state.clarification !== null) return refuse('waiting_for_answer', 'the question has no answer yet');
  if (openApproval(state) !== null) return refuse('waiting_for_answer', 'the request has no decision yet');
  if (state.run !== null && !command.takeover) {
    return refuse('run_open', `generation ${state.run.generation} is at work (${state.run.runner})`);
  }
  const head = state.turns[0];
  if (head === undefined || head.turn !== command.turn) {
    return refuse('not_next_turn', head ? `turn ${head.turn} is next` : 'no turn is waiting');
  }
  return accept(
    fact('run.started', {
      generation: command.generation,
      turn: command.turn,
      runner: command.runner,
      resumed: command.resumed,
      attempt: command.attempt,
    }),
  );
}

export function interruptRun(state: SessionState, command: InterruptRun): Decision {
  const held = requireOpenRun(state, command.generation);
  if (!held.ok) return held;
  return accept(
    fact('run.interrupted', {
      generation: held.run.generation,
      turn: held.turn.turn,
      reason: command.reason,
      silent_seconds: Math.max(0, command.silentSeconds ?? 0),
    }),
  );
}

export function putOffRun(state: SessionState, command: PutOffRun): Decision {
  const held = requireOpenRun(state, command.generation);
  if (!held.ok) return held;
  return accept(
    fact('run.put-off', {
      generation: held.run.generation,
      turn: held.turn.turn,
      reason: command.reason,
      retry_at: iso(command.retryAt),
      models: command.models,
    }),
  );
}

export function failRun(state: SessionState, command: FailRun): Decision {
  const held = requireOpenRun(state, command.generation);
  if (!held.ok) return held;
  const generation = held.run.generation;
  const turn = held.turn.turn;
  return withEnd(state, [
    fact('run.failed', { generation, turn, code: command.code, message: command.message }),
    fact('session.final-response', {
      generation,
      turn,
      text: command.text.trim() === '' ? DEFAULT_FAILURE_TEXT : command.text,
      outcome: 'failed',
      silent: false,
    }),
  ]);
}
