/** An event as the live feed tells it. */
export interface FeedEvent {
  readonly stream_id: string;
  /** Null: the event of a route, a key or a job. */
  readonly session_id: string | null;
  readonly position: number;
  readonly version: number;
  readonly type: string;
  readonly recorded_at: string;
  readonly data: unknown;
  readonly meta: unknown;
}

export interface FeedBatch {
  readonly events: readonly FeedEvent[];
  /** True: events may be missing before these. Whoever shows something asks the gateway again. */
  readonly gap: boolean;
}

/** Null for a message that only tells the place in the log, and for anything that is not an event. */
export function parseFeedEvent(data: string): FeedEvent | null {
  try {
    const event = JSON.parse(data) as Partial<FeedEvent> | null;
    if (typeof event?.stream_id !== 'string' || typeof event.type !== 'string') return null;
    return event as FeedEvent;
  } catch {
    return null;
  }
}
