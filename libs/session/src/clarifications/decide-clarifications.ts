import type { EventData, EventImage, ReceivedFile } from '@angelia/contracts';
import { accept, alreadyDone, type Decision, fact, refuse } from '../decision.ts';
import { timedOutWithoutAnswer } from '../ending/expiry.ts';
import { refuseUnlessOpen, requireOpenRun } from '../guards.ts';
import type { SessionState } from '../state.ts';
import { iso } from '../time.ts';
import { broughtBy } from '../turns/decide-turns.ts';

/**
 * A clarification is a tool call that a person answers.
 *
 *   (none) --requested--> open      the run closes and the session waits; the question is an output
 *   open --answered--> (none)       the answer is the result of the call; the turn is queued for its next run
 *   open --timed-out, on_timeout continue--> (none)   the result is "no answer came"; the turn is queued too
 *   open --timed-out, on_timeout end--> the turn expires with a message
 *   open --superseded--> the turn is cancelled without a message; a newer one replaces it (turns/decide-turns.ts)
 *
 * At most one is open at a time. While it is open nothing runs, neither its turn nor a later one (no-phantom-turns, C5).
 */
export interface RequestClarification {
  readonly type: 'request-clarification';
  readonly generation: number;
  readonly clarificationId: string;
  readonly callId: string;
  readonly question: string;
  readonly choices?: readonly string[];
  readonly deadline: number;
  readonly onTimeout: 'end' | 'continue';
}

export interface AnswerClarification {
  readonly type: 'answer-clarification';
  readonly clarificationId: string;
  readonly answer: string;
  readonly by: EventData<'clarification.answered'>['by'];
  readonly person?: string;
  /** The answer names them. */
  readonly images?: readonly EventImage[];
  readonly files?: readonly ReceivedFile[];
}

export interface TimeOutClarification {
  readonly type: 'time-out-clarification';
  readonly clarificationId: string;
  /** What the user reads if the session does not go on. Has a default. */
  readonly text?: string;
}

const CLOSED = 'this question was answered or superseded, or it timed out';

export function requestClarification(state: SessionState, command: RequestClarification): Decision {
  if (state.clarification?.id === command.clarificationId) return alreadyDone;
  const held = requireOpenRun(state, command.generation);
  if (!held.ok) return held;
  const { run, turn } = held;
  const call = turn.calls.find((asked) => asked.id === command.callId);
  if (call === undefined) return refuse('unknown_call', `the model did not ask for call ${command.callId}`);
  if (call.status === 'done') return refuse('call_closed', `call ${call.id} has its result`);
  // Waiting closes the run, which would then miss the results of its other calls.
  const other = turn.calls.find(
    (c) => c.id !== call.id && c.status === 'started' && c.startedIn === run.generation,
  );
  if (other !== undefined) return refuse('tools_open', `call ${other.id} has no result yet`);
  return accept(
    fact('clarification.requested', {
      generation: run.generation,
      turn: turn.turn,
      clarification_id: command.clarificationId,
      call_id: call.id,
      question: command.question,
      choices: [...(command.choices ?? [])],
      deadline: iso(command.deadline),
      on_timeout: command.onTimeout,
    }),
  );
}

export function answerClarification(state: SessionState, command: AnswerClarification): Decision {
  const refusal = refuseUnlessOpen(state);
  if (refusal !== null) return refusal;
  if (state.clarification?.id !== command.clarificationId) {
    return refuse('clarification_closed', CLOSED);
  }
  return accept(
    fact('clarification.answered', {
      clarification_id: command.clarificationId,
      answer: command.answer,
      by: command.by,
      ...(command.person === undefined ? {} : { person: command.person }),
      ...broughtBy(command),
    }),
  );
}

export function timeOutClarification(state: SessionState, command: TimeOutClarification): Decision {
  const refusal = refuseUnlessOpen(state);
  if (refusal !== null) return refusal;
  const clarification = state.clarification;
  if (clarification === null || clarification.id !== command.clarificationId) {
    return refuse('clarification_closed', CLOSED);
  }
  return timedOutWithoutAnswer(state, clarification, command.text);
}
