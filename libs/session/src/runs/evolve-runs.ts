import type { EventData } from '@angelia/contracts';
import { type StateDraft, shortened } from '../state.ts';
import { seconds } from '../time.ts';
import { changeTurn, closeTurn } from '../turns/evolve-turns.ts';

export function applyRunStarted(draft: StateDraft, data: EventData<'run.started'>, at: number): void {
  draft.generation = data.generation;
  draft.run = {
    generation: data.generation,
    turn: data.turn,
    runner: data.runner,
    resumed: data.resumed,
    attempt: data.attempt,
    startedAt: at,
    statuses: 0,
    compressions: 0,
  };
  changeTurn(draft, data.turn, (turn) => ({
    startedAt: turn.startedAt ?? at,
    lastSignAt: at,
    attempts: turn.attempts + 1,
    interruptedAt: null,
  }));
}

export function applyRunFailed(draft: StateDraft, data: EventData<'run.failed'>): void {
  if (draft.run?.turn === data.turn) draft.run = null;
  draft.failure = { code: data.code, message: shortened(data.message) };
}

export function applyRunCancelled(draft: StateDraft, data: EventData<'run.cancelled'>): void {
  draft.failure = null;
  closeTurn(draft, data.turn);
}

export function applyRunInterrupted(draft: StateDraft, data: EventData<'run.interrupted'>, at: number): void {
  draft.run = null;
  changeTurn(draft, data.turn, (turn) => ({
    // The time when the work stopped, not when the runner could record that. Otherwise an outage of two days would look
    // like an interruption of no length.
    interruptedAt: at - seconds(data.silent_seconds ?? 0),
    // The interrupted attempt does not count.
    attempts: Math.max(0, turn.attempts - 1),
  }));
}
