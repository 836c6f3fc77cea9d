import { type Refused, refuse } from './decision.ts';
import type { OpenRun, OpenTurn, SessionState } from './state.ts';

/**
 * The fence of invariant single-owner: an append of a run is accepted only while its generation is the open one. A runner
 * that was frozen, taken over and then woke up gets `stale_generation` for everything it still tries to append.
 */
export function requireOpenRun(
  state: SessionState,
  generation: number,
): { ok: true; run: OpenRun; turn: OpenTurn } | Refused {
  if (state.created === null) return refuse('unknown_session', 'there is no such session');
  if (generation < state.generation) {
    return refuse('stale_generation', `generation ${generation} was followed by ${state.generation}`);
  }
  if (state.ended !== null) return refuse('session_ended', `the session ended: ${state.ended.outcome}`);
  const run = state.run;
  if (run === null || run.generation !== generation) {
    return refuse('no_open_run', `generation ${generation} is not open`);
  }
  const turn = state.turns.find((open) => open.turn === run.turn);
  if (turn === undefined) return refuse('no_open_run', `turn ${run.turn} is over`);
  return { ok: true, run, turn };
}

/** For commands that do not come from a run. Null: the session exists and has not ended. */
export function refuseUnlessOpen(state: SessionState): Refused | null {
  if (state.created === null) return refuse('unknown_session', 'there is no such session');
  if (state.ended !== null) return refuse('session_ended', `the session ended: ${state.ended.outcome}`);
  return null;
}
