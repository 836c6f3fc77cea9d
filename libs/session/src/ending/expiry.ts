import type { SessionFact } from '@angelia/contracts';
import { type Accepted, accept, type Decision, fact, refuse } from '../decision.ts';
import { open } from '../guards.ts';
import { keepsOpen, type OpenClarification, type SessionState } from '../state.ts';
import { turnRequested } from '../turns/decide-turns.ts';
import { sessionEnded, withEnd } from './decide-ending.ts';

/**
 * Expiry: what `recover` says cannot or must not go on is told to the user, once, and ends.
 *
 * `run.failed` (code for the operator), the final response (a sentence for the user), and the end where nothing more
 * can come. A turn that ran out of attempts failed; whatever ran out of time expired.
 */
export type ExpiryReason = 'stale' | 'attempts' | 'interrupted' | 'queue' | 'clarification' | 'process';

export interface Expire {
  readonly type: 'expire';
  readonly reason: ExpiryReason;
  /** As in the verdict; null for `process`: every turn is answered and the session only waits. */
  readonly turn: number | null;
  /** `state.generation` that the verdict was made from: if a run started since, the verdict is void. */
  readonly generation: number;
  /** What the user reads; has a default. */
  readonly text?: string;
}

const told: Record<ExpiryReason, string> = {
  stale:
    'Sorry, the work on this stopped and was not resumed in time. Please send it again if it is still wanted.',
  attempts: 'Sorry, this could not be finished: the work on it stopped several times.',
  interrupted:
    'Sorry, the work on this was interrupted for too long. Please send it again if it is still wanted.',
  queue: 'Sorry, this waited too long to be started and was given up.',
  clarification: 'No answer to the question came in time, so this was ended.',
  process: 'A background process is still running; its result is not waited for any longer.',
};

const codes: Record<ExpiryReason, string> = {
  stale: 'stale',
  attempts: 'attempts',
  interrupted: 'interrupted',
  queue: 'queue',
  clarification: 'clarification_timeout',
  process: 'process_timeout',
};

/** Of `run.failed`, for whoever counts them. */
export const expiryCodes: readonly string[] = Object.values(codes);

export function expire(state: SessionState, command: Expire): Decision {
  const closed = open(state);
  if (closed !== null) return closed;
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
  return withEnd(state, expired(state, head.turn, command.reason, command.text));
}

/** Per `on_timeout`: the turn goes on with "no answer" as the call's result, or it expires. */
export function timedOutWithoutAnswer(
  state: SessionState,
  clarification: OpenClarification,
  text: string | undefined,
): Accepted {
  const timedOut = fact('clarification.timed-out', { clarification_id: clarification.id });
  if (clarification.onTimeout === 'continue') return accept(timedOut);
  return withEnd(state, [timedOut, ...expired(state, clarification.turn, 'clarification', text)]);
}

function expired(state: SessionState, turn: number, reason: ExpiryReason, text?: string): SessionFact[] {
  const generation = state.run?.generation ?? null;
  return [
    fact('run.failed', { generation, turn, code: codes[reason], message: `expired: ${reason}` }),
    fact('session.final-response', {
      generation,
      turn,
      text: text?.trim() ? text : told[reason],
      outcome: reason === 'attempts' ? 'failed' : 'expired',
      silent: false,
    }),
  ];
}

/**
 * The wait for background processes is over. The user was promised their result, so they are told, by a turn
 * that is answered in the same decision: no run starts for it.
 */
function stopWaiting(state: SessionState, text: string | undefined): Decision {
  if (state.turns.length > 0) return refuse('not_next_turn', 'a turn is waiting to be answered');
  const awaited = state.processes.filter(keepsOpen);
  if (awaited.length === 0) return withEnd(state, []);
  const ids = awaited.map((process) => process.processId).join(', ');
  const promised = awaited.find((process) => process.notify);
  if (promised === undefined) {
    // Watch patterns only: nobody was promised anything, and how the last turn went stands.
    return accept(sessionEnded(state, state.answered?.outcome ?? 'expired', `stopped waiting for ${ids}`));
  }
  const turn = state.lastTurn + 1;
  return accept(
    turnRequested({
      turn,
      source: 'process',
      input: `[Background process ${ids} is still running and is not waited for any longer]`,
      notice: { process_id: promised.processId, kind: 'lost' },
    }),
    fact('session.final-response', {
      generation: null,
      turn,
      text: text?.trim() ? text : told.process,
      outcome: 'expired',
      silent: false,
    }),
    sessionEnded(state, 'expired', `stopped waiting for ${ids}`),
  );
}
