import { AngeliaError, type RecordedEvent, SCHEMA_VERSION } from '@angelia/contracts';

/**
 * Thrown if a stream holds an event that a newer version of Angelia wrote in a form that this one cannot read, during a
 * rolling upgrade or after a downgrade. Retry: an upgraded replica takes the work.
 */
export class EventTooNew extends AngeliaError {
  readonly code = 'event_too_new';
  readonly retryable = true;
  override readonly name = 'EventTooNew';

  constructor(event: RecordedEvent) {
    super(
      `${event.type} at ${event.streamId}/${event.version} has schema version ${event.schemaVersion}; ` +
        `this service reads up to ${SCHEMA_VERSION}. Upgrade this service`,
    );
  }
}

/** Steps from one schema version to the next, by event type: `{ 'run.started': { 1: (data) => newer } }`. */
export type UpcastSteps = Readonly<Record<string, Readonly<Record<number, (data: unknown) => unknown>>>>;

/** None is needed yet. Do not change the corpus when you add one: the version before wrote what is there. */
const STEPS: UpcastSteps = {};

/** The event in the newest schema: all other code knows this form only. */
export function upcast(event: RecordedEvent, steps = STEPS, newest = SCHEMA_VERSION): RecordedEvent {
  if (event.schemaVersion === newest) return event;
  if (event.schemaVersion > newest) throw new EventTooNew(event);
  let data = event.data;
  for (let version = event.schemaVersion; version < newest; version += 1) {
    const step = Object.hasOwn(steps, event.type) ? steps[event.type]?.[version] : undefined;
    if (step !== undefined) data = step(data);
  }
  return { ...event, data, schemaVersion: newest };
}

/** For facts that hold whatever newer versions wrote meanwhile: their events fold like an unknown type. */
export function upcastOrSkip(event: RecordedEvent): RecordedEvent {
  return event.schemaVersion > SCHEMA_VERSION ? { ...event, type: UNREADABLE } : upcast(event);
}

const UNREADABLE = 'unreadable';
