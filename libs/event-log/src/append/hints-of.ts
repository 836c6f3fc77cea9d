import { type Hint, isAwaited } from '@angelia/contracts';
import type { AppendRequest } from './request.ts';

/** A hint for one event. Whoever publishes it uses the event id as the message id, so that the bus drops repetitions. */
export type EventHint = Hint & { readonly eventId: string };

/** The hints that somebody waits for, of an append that is committed. */
export function hintsOf({ streams }: AppendRequest): EventHint[] {
  const hints: EventHint[] = [];
  for (const { streamId, expectedVersion, events } of streams) {
    let version = expectedVersion;
    for (const { type, eventId, meta } of events) {
      version += 1;
      if (!isAwaited(type, version)) continue;
      const { traceparent } = meta;
      hints.push({
        stream_id: streamId,
        version,
        type,
        eventId,
        ...(traceparent === undefined ? {} : { traceparent }),
      });
    }
  }
  return hints;
}
