import { type RecordedEvent, shownData } from '@angelia/contracts';

export interface EventJson {
  readonly position: number;
  readonly version: number;
  readonly type: string;
  readonly recorded_at: string;
  readonly data: unknown;
  readonly meta: unknown;
}

/** An event in the form of the public interface. */
export function eventJson(event: RecordedEvent): EventJson {
  return {
    position: event.position,
    version: event.version,
    type: event.type,
    recorded_at: new Date(event.recordedAt).toISOString(),
    data: shownData(event.type, event.data),
    meta: event.meta,
  };
}
