import { type RecordedEvent, SCHEMA_VERSION } from '@angelia/contracts';

/**
 * Thrown when a stream holds an event that a newer version of Angelia wrote in a form that this one cannot read: in
 * the middle of a rolling upgrade, or after going back. Retry: an upgraded replica takes the work.
 */
export class EventTooNew extends Error {
  readonly code = 'event_too_new';
  readonly retryable = true;
  override readonly name = 'EventTooNew';

  constructor(event: RecordedEvent) {
    super(
      `${event.type} at ${event.streamId}/${event.version} has schema version ${event.schemaVersion}, ` +
        `this program reads up to ${SCHEMA_VERSION}: upgrade this service`,
    );
  }
}

/** From one schema version to the next, by event type: `{ 'run.started': { 1: (data) => newer } }`. None needed yet. */
const steps: Readonly<Record<string, Readonly<Record<number, (data: unknown) => unknown>>>> = {};

/** The event as the newest schema has it: everything behind this line knows one form only. */
export function upcast(event: RecordedEvent): RecordedEvent {
  if (event.schemaVersion === SCHEMA_VERSION) return event;
  if (event.schemaVersion > SCHEMA_VERSION) throw new EventTooNew(event);
  let data = event.data;
  for (let version = event.schemaVersion; version < SCHEMA_VERSION; version += 1) {
    const step = steps[event.type]?.[version];
    if (step !== undefined) data = step(data);
  }
  return { ...event, data, schemaVersion: SCHEMA_VERSION };
}
