import type { Outcome, SessionFact } from '@angelia/contracts';
import { type Accepted, accept, alreadyDone, type Decision, fact, refuse } from '../decision.ts';
import { stateAfter } from '../evolve.ts';
import { nothingMoreCanCome, type SessionState } from '../state.ts';

/**
 * The end of a session (invariant every-session-ends; seed 001).
 *
 * It is decided where the work ends, in the same decision and so in the same append: with the final response of the last
 * turn, with the end or consumption of the last watched process, with cancel, or with expiry. No other place ends
 * sessions, and nobody has to remember to do it. The reason says where the session came from (`webhook_complete`), the
 * outcome how its last turn went.
 */
export interface Cancel {
  readonly type: 'cancel';
  /** Who asked: `api`, `console`, ... */
  readonly by: string;
}

export function cancel(state: SessionState, command: Cancel): Decision {
  if (state.created === null) return refuse('unknown_session', 'there is no such session');
  if (state.ended?.outcome === 'cancelled') return alreadyDone;
  if (state.ended !== null) return refuse('session_ended', `the session ended: ${state.ended.outcome}`);
  const head = state.turns[0];
  const ended = sessionEnded(state, 'cancelled', `cancelled by ${command.by}`);
  if (head === undefined) return accept(ended);
  return accept(
    fact('run.cancelled', { generation: state.run?.generation ?? null, turn: head.turn, by: command.by }),
    ended,
  );
}

export function sessionEnded(
  state: SessionState,
  outcome: Outcome,
  detail: string | null = null,
): SessionFact {
  return fact('session.ended', { outcome, reason: `${state.created?.origin ?? 'webhook'}_complete`, detail });
}

/** The events, followed by the end of the session if nothing more can come after them. */
export function withEnd(
  state: SessionState,
  events: readonly SessionFact[],
  detail: string | null = null,
): Accepted {
  const after = stateAfter(state, events);
  if (!nothingMoreCanCome(after)) return accept(...events);
  // No turn was ever answered (all were interrupted or withdrawn), so none of the work was done.
  return accept(...events, sessionEnded(after, after.answered?.outcome ?? 'cancelled', detail));
}

/** Whether these events close the open run. If so, its lease is released with them. */
export function endsRun(state: SessionState, events: readonly SessionFact[]): boolean {
  return state.run !== null && stateAfter(state, events).run === null;
}
