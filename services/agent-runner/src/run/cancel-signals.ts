import { cancelSubject, type SessionId, sessionId } from '@angelia/contracts';

/** Core NATS, as far as it is needed here. */
export interface CancelSignals {
  subscribe(subject: string, listener: (subject: string, payload: string) => void): () => void;
}

/**
 * Hears "cancelled" for every session and passes it on, so that a run on whichever replica stops within moments. The
 * message is not believed: whoever runs the session looks whether the event is there.
 */
export function listenForCancels(bus: CancelSignals, onCancel: (id: SessionId) => void): () => void {
  const prefix = cancelSubject('');
  return bus.subscribe(cancelSubject('*'), (subject) => onCancel(sessionId(subject.slice(prefix.length))));
}
