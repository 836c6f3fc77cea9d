import { cancelSubject, type SessionId, sessionId } from '@angelia/contracts';

/** The part of core NATS that is needed here. */
export interface CancelSignals {
  subscribe(subject: string, listener: (subject: string, payload: string) => void): () => void;
}

/**
 * Passes on the "cancelled" message of every session, so that a run on any replica stops within moments. The message
 * itself proves nothing: the runner of the session checks that the event is in the log.
 */
export function listenForCancels(bus: CancelSignals, onCancel: (id: SessionId) => void): () => void {
  const prefix = cancelSubject('');
  return bus.subscribe(cancelSubject('*'), (subject) => onCancel(sessionId(subject.slice(prefix.length))));
}
