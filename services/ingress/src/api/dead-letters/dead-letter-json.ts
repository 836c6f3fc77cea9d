import type { DeadLetter } from '@angelia/event-log';
import type { DeadLetterJson } from './dead-letters.operations.ts';

/** A dead letter in the form of the public interface. */
export function letterJson(letter: DeadLetter): DeadLetterJson {
  return {
    id: String(letter.id),
    stream_id: letter.streamId,
    version: letter.version,
    handler: letter.handler,
    reason: letter.reason,
    recorded_at: new Date(letter.recordedAt).toISOString(),
  };
}
