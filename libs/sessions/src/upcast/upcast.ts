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

/** From one schema version to the next, by event type: `{ 'run.started': { 1: (data) => newer } }`. */
export type UpcastSteps = Readonly<Record<string, Readonly<Record<number, (data: unknown) => unknown>>>>;

/** None needed yet. Who adds one adds nothing to the corpus: what is there was written by the version before. */
const STEPS: UpcastSteps = {};

/** The event as the newest schema has it: everything behind this line knows one form only. */
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

/** For what is true whatever newer versions wrote meanwhile: theirs is folded like a type that we do not know. */
export function upcastOrSkip(event: RecordedEvent): RecordedEvent {
  return event.schemaVersion > SCHEMA_VERSION ? { ...event, type: UNREADABLE } : upcast(event);
}

const UNREADABLE = 'unreadable';
