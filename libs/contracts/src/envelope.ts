import { z } from 'zod';
import type { SessionFact } from './events.ts';

export const metaSchema = z.object({
  /** Event or request that caused this one. */
  causation: z.string().optional(),
  /** The session (or webhook) that all of this belongs to. */
  correlation: z.string().optional(),
  /** W3C trace context of the span that appended the event (invariant one-trace). */
  traceparent: z.string().optional(),
  /** Instance that appended it, or `api`. */
  actor: z.string(),
});
export type EventMeta = z.infer<typeof metaSchema>;

/** An event about to be appended. The id is made by the writer, so that a repeated append can recognise its own rows. */
export interface NewEvent {
  readonly eventId: string;
  readonly type: string;
  readonly data: unknown;
  readonly meta: EventMeta;
}

/** An event as it stands in the log. */
export interface RecordedEvent {
  /** Identity in the table; not an order across streams (the tail's order is epoch, tx, position). */
  readonly position: number;
  readonly streamId: string;
  readonly version: number;
  readonly type: string;
  readonly schemaVersion: number;
  readonly eventId: string;
  readonly data: unknown;
  readonly meta: EventMeta;
  /** Milliseconds since the epoch, by the database's clock. */
  readonly recordedAt: number;
}

/** A recorded event of a session's stream whose type we know. */
export type RecordedFact = SessionFact & Pick<RecordedEvent, 'version' | 'recordedAt' | 'meta' | 'eventId'>;
