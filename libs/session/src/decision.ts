import type { EventData, EventType, SessionFact } from '@angelia/contracts';

/** Why a command is refused. Stable: services and the API tell cases apart by it. */
export type RefusalCode =
  /** The stream is empty. */
  | 'unknown_session'
  /** The stream already holds another session. */
  | 'session_exists'
  /** Nothing starts after the end: open a continuation. */
  | 'session_ended'
  /** Another run holds the session by now (invariant single-owner). Stop. */
  | 'stale_generation'
  /** The run that the command speaks for is over (interrupted, answered, cancelled, waiting). Stop. */
  | 'no_open_run'
  /** A run is open and its lease was not said to be expired. */
  | 'run_open'
  /** The turn is not the first of the queue: answered meanwhile, withdrawn, or behind another. */
  | 'not_next_turn'
  /** A clarification is open: nothing runs until it is answered or times out. */
  | 'waiting_for_answer'
  /** Coalescing lost the race with `run.started`: request a turn or open a new window. */
  | 'turn_started'
  /** A model answer that does not follow the last recorded one. */
  | 'step_gap'
  /** Calls that this very run began have no result yet. */
  | 'tools_open'
  /** The model did not ask for this call in its last answer. */
  | 'unknown_call'
  /** An earlier run began this call; it must not be executed again blindly. */
  | 'call_started'
  /** The call has its result, or the model went on without one. */
  | 'call_closed'
  | 'clarification_closed'
  | 'unknown_output'
  /** Delivered, dropped or dead already. */
  | 'delivery_settled'
  /** Another sender's attempt is within its deadline. */
  | 'delivery_claimed'
  /** The plan says something else is next, or later. */
  | 'not_next_output'
  /** A later attempt was begun. */
  | 'stale_attempt'
  /** An interim status that a later output follows is not sent any more. */
  | 'too_late'
  | 'unknown_process'
  /** It has exited or is lost: there is nothing to end. */
  | 'process_over';

export interface Accepted {
  readonly ok: true;
  /** Empty: it is already so. */
  readonly events: readonly SessionFact[];
}

export interface Refused {
  readonly ok: false;
  readonly code: RefusalCode;
  readonly reason: string;
}

export type Decision = Accepted | Refused;

export function accept(...events: SessionFact[]): Accepted {
  return { ok: true, events };
}

export const alreadySo: Accepted = { ok: true, events: [] };

export function refuse(code: RefusalCode, reason: string): Refused {
  return { ok: false, code, reason };
}

/** Type and data that belong together. */
export function fact<T extends EventType>(type: T, data: EventData<T>): SessionFact {
  return { type, data } as SessionFact;
}
