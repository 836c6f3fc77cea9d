import type { EventData } from '@angelia/contracts';
import { accept, alreadyDone, type Decision, fact, refuse } from '../decision.ts';
import type { SessionState } from '../state.ts';
import { iso } from '../time.ts';

/** Records that the message of a closed question was edited, or that the edit was given up. */
export interface FinishUpdate {
  readonly type: 'finish-update';
  readonly output: number;
  readonly result: EventData<'delivery.updated'>['result'];
  readonly reason: string | null;
}

/** The edit is made again later. */
export interface FailUpdate {
  readonly type: 'fail-update';
  readonly output: number;
  /** The failures before, as in the plan. */
  readonly failures: number;
  readonly reason: string;
  readonly retryAt: number;
  /** False for a flood wait, which does not use up the retry schedule. */
  readonly counts: boolean;
}

export function finishUpdate(state: SessionState, { output, result, reason }: FinishUpdate): Decision {
  if (!isShown(state, output)) return noneToUpdate(state, output);
  return accept(fact('delivery.updated', { output, result, reason }));
}

export function failUpdate(state: SessionState, command: FailUpdate): Decision {
  const { output, reason } = command;
  const question = state.shown?.find((shown) => shown.output === output);
  if (question === undefined) return noneToUpdate(state, output);
  // Another sender failed at the same time: one failure is enough.
  if (question.failures !== command.failures) return alreadyDone;
  return accept(
    fact('delivery.update-failed', {
      output,
      reason,
      retry_at: iso(command.retryAt),
      counts: command.counts,
    }),
  );
}

function isShown({ shown = [] }: SessionState, output: number): boolean {
  return shown.some((question) => question.output === output);
}

/** Another sender may have made the same edit. */
function noneToUpdate(state: SessionState, output: number): Decision {
  return output <= state.version ? alreadyDone : refuse('unknown_output', `there is no output ${output}`);
}
