import type { Outcome, SessionFact } from '@angelia/contracts';
import { type Accepted, accept, alreadySo, type Decision, fact, refuse } from '../decision.ts';
import { evolveAll, type StreamEvent } from '../evolve.ts';
import { nothingMoreCanCome, type SessionState } from '../state.ts';

/**
 * The end of a session (invariant every-session-ends; seed 001).
 *
 * It is decided where the work truly ends, in the same decision and so in the same append: by the final response of
 * the last turn, by the end or consumption of the last watched process, by cancel, by expiry. There is no other
 * place that ends sessions, and nobody has to remember to do it. The reason says where the session came from
 * (`webhook_complete`), the outcome how its last turn went.
 */
export interface Cancel {
  readonly type: 'cancel';
  /** Who asked: `api`, `console`, ... */
  readonly by: string;
}

export function cancel(state: SessionState, command: Cancel): Decision {
  if (state.created === null) return refuse('unknown_session', 'there is no such session');
  if (state.ended?.outcome === 'cancelled') return alreadySo;
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

/** The events, and the end of the session behind them where after them nothing more can come. */
export function withEnd(
  state: SessionState,
  events: readonly SessionFact[],
  detail: string | null = null,
): Accepted {
  const after = afterwards(state, events);
  if (!nothingMoreCanCome(after)) return accept(...events);
  // No turn was ever answered (all were interrupted or withdrawn): then none of the work was done.
  return accept(...events, sessionEnded(after, after.answered?.outcome ?? 'cancelled', detail));
}

/** Whether the open run is over by these events. Then nobody is at work on it, and its lease goes with them. */
export function endsRun(state: SessionState, events: readonly SessionFact[]): boolean {
  return state.run !== null && afterwards(state, events).run === null;
}

/** The state as it will be: only who holds what is looked at, so the time of the last event is as good as any. */
export function afterwards(state: SessionState, events: readonly SessionFact[]): SessionState {
  return evolveAll(
    state,
    events.map(
      (event, i): StreamEvent => ({
        ...event,
        version: state.version + 1 + i,
        recordedAt: state.lastActivityAt,
      }),
    ),
  );
}
