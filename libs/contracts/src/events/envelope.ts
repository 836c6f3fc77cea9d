import { z } from 'zod';
import type { SessionFact } from './session-events.ts';

export const metaSchema = z.object({
  /** The event or request that caused this event. */
  causation: z.string().optional(),
  /** The session (or webhook) that this event belongs to. */
  correlation: z.string().optional(),
  /** W3C trace context of the span that appended the event (invariant one-trace). */
  traceparent: z.string().optional(),
  /** The instance that appended it, or `api`. */
  actor: z.string(),
});
export type EventMeta = z.infer<typeof metaSchema>;

/** An event to append. The writer makes the id, so that a repeated append can recognise its own rows. */
export interface NewEvent {
  readonly eventId: string;
  readonly type: string;
  readonly data: unknown;
  readonly meta: EventMeta;
}

/** An event in the log. */
export interface RecordedEvent {
  /** Identity in the table. Not an order across streams: the tail is ordered by epoch, tx and position. */
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

/** A recorded event of a session's stream with a known type. */
export type RecordedFact = SessionFact & Pick<RecordedEvent, 'version' | 'recordedAt' | 'meta' | 'eventId'>;

/** One line of an export: an event from the log. */
export const archivedEventSchema = z.object({
  stream_id: z.string(),
  version: z.number().int().positive(),
  type: z.string(),
  schema_version: z.number().int().positive(),
  event_id: z.uuid(),
  recorded_at: z.iso.datetime(),
  data: z.unknown(),
  meta: metaSchema,
});
export type ArchivedEvent = z.infer<typeof archivedEventSchema>;
