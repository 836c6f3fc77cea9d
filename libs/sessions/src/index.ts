export { type Clock, systemClock } from './database-clock.ts';
export { newEventId, newFenceSeed, newSessionId, uuidV7 } from './ids.ts';
export { continuationKey, type KeyedPlan, KeyedSessions, keyStream } from './keyed-sessions.ts';
export {
  type Executed,
  type ExecuteOptions,
  type Loaded,
  Sessions,
  Superseded,
  TooManyConflicts,
} from './sessions.ts';
export {
  freshTraceparent,
  isTracing,
  linkActiveSpan,
  markFailed,
  nameActiveSession,
  recordSpan,
  SESSION_ID,
  setTracing,
  spanIds,
  traceIdNow,
  traceIdOf,
  traceparentNow,
  withInternalSpan,
  withinTrace,
  withSpan,
} from './tracing.ts';
export { projectViews } from './upcast/project-views.ts';
export { EventTooNew, upcast } from './upcast/upcast.ts';
