export { type AgendaOptions, type HintOwner, hintAllUnsettled, runAgenda } from './agenda.ts';
export type {
  AppendRequest,
  AppendResult,
  RateLimit,
  ReleaseLease,
  StreamAppend,
  StreamVersion,
  TakeLease,
} from './append-request.ts';
export { exportTo, importArchive } from './archive.ts';
export { type Exported, type ExportFilesOptions, exportFiles, importFiles } from './archive-files.ts';
export { runCommand } from './commands/command-line.ts';
export { driverModules, type PoolUse, SERVICE_ROLE, type Timeouts } from './database.ts';
export type { DeadLetter, NewDeadLetter } from './dead-letters.ts';
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
export {
  CONNECTIONS_PER_SERVICE,
  type ExaminedDatabase,
  type ExaminedSchema,
  examineDatabase,
  type OpenWriter,
} from './examine.ts';
export type { LogHealth } from './health.ts';
export { type Leading, type LeadOptions, lead } from './lead.ts';
export type { Lease, LeaseNow, Leases } from './leases.ts';
export type {
  DeliveryFilter,
  ListedDelivery,
  ListedProcess,
  ListedSession,
  Lists,
  Page,
  ProcessFilter,
  SessionFilter,
} from './lists.ts';
export type { LogStatus } from './log-status.ts';
export type { Logger } from './logger.ts';
export { type MigrateOptions, type MigrateResult, migrate, raiseEpoch } from './migrate.ts';
export type { OpenWork } from './open-work.ts';
export { type ProjectionOptions, runProjection } from './projection.ts';
export { eraseSession, type Pruned, type PruneOptions, pruneSessions } from './prune.ts';
export type { Queue, QueuedSession } from './queue.ts';
export type { SessionRoute } from './read-route.ts';
export { type RebuildOptions, type RebuildResult, rebuildViews } from './rebuild.ts';
export { type RelayedHint, type RelayOptions, runRelay } from './relay.ts';
export type { SendTurns, Turn, TurnAt } from './send-turns.ts';
export { storable } from './storable.ts';
export type { Streams } from './streams.ts';
export type { TailEvent, TailPage } from './tail.ts';
export { TAIL_START, type TailCursor } from './tail-cursor.ts';
export {
  KEPT_PER_KIND,
  type UnstartedBatch,
  type UnstartedCount,
  type UnstartedFilter,
  type UnstartedKind,
  type UnstartedWebhook,
} from './unstarted-webhooks.ts';
export type {
  DeliveryRow,
  Measured,
  ProcessRow,
  ProjectSession,
  SessionRow,
  SessionViews,
} from './view-rows.ts';
