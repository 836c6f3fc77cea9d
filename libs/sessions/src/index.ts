export { newEventId, newFenceSeed, newSessionId, uuidV7 } from './ids.ts';
export {
  continuationKey,
  type KeyedExecuted,
  type KeyedPlan,
  KeyedSessions,
  keyStream,
} from './keyed-sessions.ts';
export { type Clock, LogClock, systemClock } from './log-clock.ts';
export { projectRecorded } from './project-recorded.ts';
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
export { EventTooNew, upcast } from './upcast.ts';
