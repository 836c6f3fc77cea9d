import type { SessionState, ShownQuestion } from '../state.ts';

/**
 * Which delivered question is to be edited: it has buttons, and it is closed (answered, decided, too late, or the session
 * has ended). The edit says what became of it, and the buttons disappear.
 *
 *   delivered with buttons --closed--> due --updated--> (none)
 *   due --update-failed--> retry (at retry_at) --updated--> (none)
 *
 * It needs no claim: whoever makes the same edit a second time changes nothing. It is not an output: it neither waits for one
 * nor holds one back.
 */
type UpdatePlan =
  | {
      readonly action: 'update';
      readonly output: number;
      /** The index of the next delay in the retry schedule. */
      readonly failures: number;
    }
  | { readonly action: 'wait'; readonly until: number }
  | { readonly action: 'nothing' };

export function updatePlan(state: SessionState, now: number): UpdatePlan {
  const closed = (state.shown ?? []).filter((question) => isClosed(state, question));
  const due = closed.find(({ until }) => until <= now);
  if (due !== undefined) return { action: 'update', output: due.output, failures: due.failures };
  return closed.length === 0
    ? { action: 'nothing' }
    : { action: 'wait', until: Math.min(...closed.map(({ until }) => until)) };
}

/** When the next edit is due. Null: there is none to make. */
export function updateDue(state: SessionState): number | null {
  const closed = (state.shown ?? []).filter((question) => isClosed(state, question));
  return closed.length === 0 ? null : Math.min(...closed.map(({ until }) => until));
}

function isClosed({ clarification, approval }: SessionState, { output }: ShownQuestion): boolean {
  return clarification?.output !== output && approval?.output !== output;
}
