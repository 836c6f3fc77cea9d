export { exportTo, importArchive } from './admin/archive.ts';
export { type Exported, type ExportFilesOptions, exportFiles, importFiles } from './admin/archive-files.ts';
export {
  CONNECTIONS_PER_SERVICE,
  type ExaminedDatabase,
  type ExaminedSchema,
  examineDatabase,
  type OpenWriter,
} from './admin/examine.ts';
export { type MigrateOptions, type MigrateResult, migrate, raiseEpoch } from './admin/migrate.ts';
export { eraseSession, type Pruned, type PruneOptions, pruneSessions } from './admin/prune.ts';
export { type RebuildOptions, type RebuildResult, rebuildViews } from './admin/rebuild.ts';
export type {
  AppendRequest,
  AppendResult,
  RateLimit,
  ReleaseLease,
  StreamAppend,
  StreamVersion,
  TakeLease,
} from './append/request.ts';
export { storable } from './append/storable.ts';
export { runCommand } from './commands/command-line.ts';
export { driverModules, type PoolUse, SERVICE_ROLE, type Timeouts } from './connection/database.ts';
export type { Logger } from './connection/logger.ts';
export type { DeadLetter, NewDeadLetter } from './diagnostics/dead-letters.ts';
export type { LogHealth } from './diagnostics/health.ts';
export type { LogStatus } from './diagnostics/log-status.ts';
export type { OpenWork } from './diagnostics/open-work.ts';
export {
  KEPT_PER_KIND,
  type UnstartedBatch,
  type UnstartedCount,
  type UnstartedFilter,
  type UnstartedKind,
  type UnstartedWebhook,
} from './diagnostics/unstarted-webhooks.ts';
export {
  InvalidCursor,
  LogClosed,
  LogError,
  LogOverloaded,
  LogRefused,
  LogUnavailable,
  MigrationMismatch,
  NotMigrated,
  UnreadableArchive,
  UnstorableEvent,
  WrongCluster,
} from './errors.ts';
export { EventLog, type EventLogOptions, openEventLog } from './event-log.ts';
export { type AgendaOptions, type HintOwner, hintAllUnsettled, runAgenda } from './leading/agenda.ts';
export { type Leading, type LeadOptions, lead } from './leading/lead.ts';
export type { Lease, LeaseNow, Leases } from './leases/leases.ts';
export type {
  DeliveryFilter,
  ListedDelivery,
  ListedProcess,
  ListedSession,
  Lists,
  Page,
  ProcessFilter,
  SessionFilter,
} from './read/lists.ts';
export type { Queue, QueuedSession } from './read/queue.ts';
export type { SessionRoute } from './read/route-reader.ts';
export type { Streams } from './read/streams.ts';
export { type RelayedHint, type RelayOptions, runRelay } from './relay/relay.ts';
export type { SendTurns, Turn, TurnAt } from './send-rates/send-rates.ts';
export type { TailEvent, TailPage } from './tail/tail.ts';
export { TAIL_START, type TailCursor } from './tail/tail-cursor.ts';
export { type ProjectionOptions, runProjection } from './views/projection.ts';
export type {
  DeliveryRow,
  Measured,
  ProcessRow,
  ProjectSession,
  SessionRow,
  SessionViews,
} from './views/session-views.ts';
