export { type Clock, DatabaseClock, systemClock } from './database-clock.ts';
export { newEventId, newFenceSeed, newSessionId, uuidV7 } from './ids.ts';
export {
  continuationKey,
  type KeyedExecuted,
  type KeyedPlan,
  KeyedSessions,
  keyStream,
} from './keyed-sessions.ts';
export {
  type Executed,
  type ExecuteOptions,
  type Loaded,
  Sessions,
  type SessionsOptions,
  TooManyConflicts,
} from './sessions.ts';
export {
  contextFrom,
  freshTraceparent,
  linkActiveSpan,
  type SpanOptions,
  setTracing,
  traceIdNow,
  traceIdOf,
  traceparentNow,
  tracingIsOn,
  withinTrace,
  withSpan,
} from './tracing.ts';
export { projectViews } from './upcast/project-views.ts';
export { EventTooNew, upcast } from './upcast/upcast.ts';
