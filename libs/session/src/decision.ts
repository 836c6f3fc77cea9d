import type { EventData, EventType, SessionFact } from '@angelia/contracts';

/** Why a command is refused. Stable: services and the API tell the cases apart by it. */
export type RefusalCode =
  /** The stream is empty. */
  | 'unknown_session'
  /** The stream already holds another session. */
  | 'session_exists'
  /** Nothing starts after the end. Open a continuation instead. */
  | 'session_ended'
  /** Another run holds the session now (invariant single-owner). Stop. */
  | 'stale_generation'
  /** The run that sent the command is over (interrupted, answered, cancelled, waiting). Stop. */
  | 'no_open_run'
  /** A run is open and the command does not say that its lease expired. */
  | 'run_open'
  /** The turn is not the first in the queue: it was answered or withdrawn, or is behind another. */
  | 'not_next_turn'
  /** A clarification is open. Nothing runs until it is answered or times out. */
  | 'waiting_for_answer'
  /** Coalescing lost the race with `run.started`. Request a turn or open a new window. */
  | 'turn_started'
  /** The model answer does not follow the last recorded one. */
  | 'step_gap'
  /** Calls that this run started have no result yet. */
  | 'tools_open'
  /** The last model answer did not ask for this call. */
  | 'unknown_call'
  /** An earlier run started this call. It must not be executed again blindly. */
  | 'call_started'
  /** The call has a result, or the model went on without one. */
  | 'call_closed'
  | 'clarification_closed'
  /** The policy asks about this call, and it was not approved with these arguments. */
  | 'approval_missing'
  /** The policy denies this call. */
  | 'call_denied'
  /** Somebody decided about this request, or it has expired, or a newer turn replaced the one that asked. */
  | 'approval_closed'
  /** Nobody has recorded it yet, but its time is over. */
  | 'approval_expired'
  /** Only others may decide about it. */
  | 'not_an_approver'
  /** Whoever decides has seen other arguments than those of the request. */
  | 'arguments_changed'
  | 'unknown_output'
  /** Already delivered, dropped or dead. */
  | 'delivery_settled'
  /** Another sender is at it and within its deadline. */
  | 'delivery_claimed'
  /** The plan says that another output is next, or that this one is not due yet. */
  | 'not_next_output'
  /** A later attempt was started. */
  | 'stale_attempt'
  /** A later output exists, so this interim status is no longer sent. */
  | 'too_late'
  | 'unknown_process'
  /** It exited or is lost: there is nothing to end. */
  | 'process_over';

export interface Accepted {
  readonly ok: true;
  /** Empty: the command is already done. */
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

export const alreadyDone: Accepted = { ok: true, events: [] };

export function refuse(code: RefusalCode, reason: string): Refused {
  return { ok: false, code, reason };
}

/** Makes a fact whose data fits its type. */
export function fact<T extends EventType>(type: T, data: EventData<T>): SessionFact {
  return { type, data } as SessionFact;
}
