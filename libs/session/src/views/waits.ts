import { openApproval, type SessionState, sessionStatus, waitingPutOff } from '../state.ts';

/**
 * What a session waits for while no run works on it, and since when. A trace shows it as a span, so that the time between
 * two runs is not a hole.
 */
export interface Wait {
  /** `model`: a run was put off. `queue`: for a runner, and for the end of a coalescing window. */
  readonly for: 'person' | 'approval' | 'process' | 'model' | 'queue';
  /** Tells this wait from the next one for the same. */
  readonly id: string;
  readonly since: number;
}

/** Null: it waits for nothing, or for a run that is at work. */
export function waitOf(state: SessionState): Wait | null {
  if (state.created === null || state.ended !== null || state.run !== null) return null;
  const { clarification, answered } = state;
  const head = state.turns[0];
  if (clarification !== null) {
    // Nobody works on the turn while its question is open, so the last sign of life is the question.
    const since = head?.lastSignAt ?? null;
    return since === null ? null : { for: 'person', id: clarification.id, since };
  }
  const approval = openApproval(state);
  if (approval !== null) return { for: 'approval', id: approval.id, since: approval.askedAt };
  if (head === undefined) {
    if (answered === null || sessionStatus(state) !== 'waiting') return null;
    return { for: 'process', id: `after turn ${answered.turn}`, since: answered.at };
  }
  const putOff = waitingPutOff(head);
  if (putOff !== null) {
    // The put-off is the last sign of life of the turn. Each has a wait of its own, also if no model was called between.
    return { for: 'model', id: `put off ${state.generation}`, since: head.lastSignAt ?? putOff.since };
  }
  const stopped = head.interruptedAt ?? head.lastSignAt;
  // A turn behind another one is not due before that is answered.
  const since =
    head.startedAt !== null && stopped !== null ? stopped : Math.max(head.requestedAt, answered?.at ?? 0);
  return { for: 'queue', id: `turn ${head.turn}`, since };
}

/** The wait that is over after these events. Null: there was none, or it goes on. */
export function endedWait(before: SessionState, after: SessionState): Wait | null {
  const wait = waitOf(before);
  if (wait === null) return null;
  const still = waitOf(after);
  return still !== null && still.for === wait.for && still.id === wait.id ? null : wait;
}
