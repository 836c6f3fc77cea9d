import type { SessionFact } from '@angelia/contracts';
import { expireApproval } from '../approvals/decide-approvals.ts';
import { type Accepted, accept, type Decision, fact, refuse } from '../decision.ts';
import { refuseUnlessOpen } from '../guards.ts';
import { keepsOpen, type OpenClarification, type SessionState } from '../state.ts';
import { turnRequested } from '../turns/decide-turns.ts';
import { sessionEnded, withEnd } from './decide-ending.ts';

/**
 * Expiry ends a turn that, according to `recover`, cannot or must not go on, and tells the user once.
 *
 * It records `run.failed` (a code for the operator), the final response (a sentence for the user), and the end of the
 * session if nothing more can come. A turn that ran out of attempts has failed. A turn that ran out of time has expired.
 */
export type ExpiryReason =
  | 'stale'
  | 'attempts'
  | 'interrupted'
  | 'queue'
  | 'clarification'
  | 'approval'
  | 'process';

export interface Expire {
  readonly type: 'expire';
  readonly reason: ExpiryReason;
  /** As in the verdict. Null for `process`: every turn is answered and the session only waits. */
  readonly turn: number | null;
  /** `state.generation` at the time of the verdict. If a run started since then, the verdict is void. */
  readonly generation: number;
  /** What the user reads. Has a default. */
  readonly text?: string;
}

/** A turn whose approval expired goes on, and the model is told. */
type LastReason = Exclude<ExpiryReason, 'approval'>;

const userTexts: Record<LastReason, string> = {
  stale:
    'Sorry, the work on this stopped and was not resumed in time. Please send it again if it is still wanted.',
  attempts: 'Sorry, this could not be finished: the work on it stopped several times.',
  interrupted:
    'Sorry, the work on this was interrupted for too long. Please send it again if it is still wanted.',
  queue: 'Sorry, this waited too long to be started and was given up.',
  clarification: 'No answer to the question came in time, so this was ended.',
  process: 'A background process is still running. Its result will not be reported.',
};

const codes: Record<LastReason, string> = {
  stale: 'stale',
  attempts: 'attempts',
  interrupted: 'interrupted',
  queue: 'queue',
  clarification: 'clarification_timeout',
  process: 'process_timeout',
};

/** The codes of `run.failed` that an expiry records, for metrics. */
export const expiryCodes: readonly string[] = Object.values(codes);

export function expire(state: SessionState, command: Expire): Decision {
  const refusal = refuseUnlessOpen(state);
  if (refusal !== null) return refusal;
  if (command.generation !== state.generation) {
    return refuse('stale_generation', `generation ${state.generation} started since`);
  }
  if (command.reason === 'process') return stopWaiting(state, command.text);
  const head = state.turns[0];
  if (head === undefined || head.turn !== command.turn) {
    return refuse('not_next_turn', `turn ${command.turn} is not the one under way`);
  }
  if (command.reason === 'clarification') {
    return state.clarification === null
      ? refuse('clarification_closed', 'no question is open')
      : timedOutWithoutAnswer(state, state.clarification, command.text);
  }
  if (command.reason === 'approval') return expireApproval(state);
  return withEnd(state, expired(state, head.turn, command.reason, command.text));
}

/** Depending on `on_timeout`, the turn goes on with "no answer" as the result of the call, or expires. */
export function timedOutWithoutAnswer(
  state: SessionState,
  clarification: OpenClarification,
  text: string | undefined,
): Accepted {
  const timedOut = fact('clarification.timed-out', { clarification_id: clarification.id });
  if (clarification.onTimeout === 'continue') return accept(timedOut);
  return withEnd(state, [timedOut, ...expired(state, clarification.turn, 'clarification', text)]);
}

function expired(state: SessionState, turn: number, reason: LastReason, text?: string): SessionFact[] {
  const generation = state.run?.generation ?? null;
  return [
    fact('run.failed', { generation, turn, code: codes[reason], message: `expired: ${reason}` }),
    fact('session.final-response', {
      generation,
      turn,
      text: text?.trim() ? text : userTexts[reason],
      outcome: reason === 'attempts' ? 'failed' : 'expired',
      silent: false,
    }),
  ];
}

/**
 * The session stops waiting for background processes. The user was promised a result, so a turn tells them. The same
 * decision answers that turn, so no run starts for it.
 */
function stopWaiting(state: SessionState, text: string | undefined): Decision {
  if (state.turns.length > 0) return refuse('not_next_turn', 'a turn is waiting to be answered');
  const awaited = state.processes.filter(keepsOpen);
  if (awaited.length === 0) return withEnd(state, []);
  const ids = awaited.map((process) => process.processId).join(', ');
  const promised = awaited.find((process) => process.notify);
  if (promised === undefined) {
    // Watch patterns only: nobody was promised a result, so the outcome of the last turn stands.
    return accept(sessionEnded(state, state.answered?.outcome ?? 'expired', `stopped waiting for ${ids}`));
  }
  const turn = state.lastTurn + 1;
  return accept(
    turnRequested({
      turn,
      source: 'process',
      input: `[Background process ${ids} is still running; this session stopped waiting for it]`,
      notice: { process_id: promised.processId, kind: 'lost' },
    }),
    fact('session.final-response', {
      generation: null,
      turn,
      text: text?.trim() ? text : userTexts.process,
      outcome: 'expired',
      silent: false,
    }),
    sessionEnded(state, 'expired', `stopped waiting for ${ids}`),
  );
}
