export type { EventHint } from './append/hints-of.ts';
export type {
  AppendRequest,
  AppendResult,
  RateLimit,
  ReleaseLease,
  StreamAppend,
  TakeLease,
} from './append/request.ts';
export { toStorable } from './append/storable.ts';
export { driverModules } from './connection/connection-pool.ts';
export type { ConsoleAccess, ConsoleSession } from './console/console-access.ts';
export type { DeadLetter } from './diagnostics/dead-letters.ts';
export type { LogStatus } from './diagnostics/log-status.ts';
export type { Activity, Minute, RouteTraffic } from './diagnostics/overview.ts';
export { MINUTE_MS } from './diagnostics/overview.ts';
export type { UnstartedBatch, UnstartedWebhook } from './diagnostics/unstarted-webhooks.ts';
export {
  InvalidCursor,
  LogClosed,
  LogError,
  LogUnavailable,
  TooManyToSort,
  UnstorableEvent,
  ViewsOutdated,
} from './errors.ts';
export { EventLog, openEventLog } from './event-log.ts';
export type { Leases } from './leases/leases.ts';
export type { Presence, SeenService } from './leases/presence.ts';
export type { ListedDelivery, ListedProcess, ListedQuestion, Lists } from './read/lists.ts';
export type { Count, Page } from './read/page.ts';
export type { Queue, QueuedSession } from './read/queue.ts';
export type { ListedSession, SessionFilter, SessionSort } from './read/session-list.ts';
export type { Streams } from './read/streams.ts';
export type { SendLimit, SendRates } from './send-rates/send-rates.ts';
export { compareCursors, cursorText, parseCursor } from './tail/cursor.ts';
export type { Tail, TailCursor, TailEvent } from './tail/tail.ts';
export type { Measured, ProjectSession } from './views/session-views.ts';
