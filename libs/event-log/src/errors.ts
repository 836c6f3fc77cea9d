/**
 * What the log throws. Each has a stable `code`, and says whether the same call can succeed later (`retryable`).
 * Verdicts of an append (conflict, duplicate, leased) are results, not errors: the caller decides again on them.
 */
export abstract class LogError extends Error {
  abstract readonly code: string;
  abstract readonly retryable: boolean;
}

/** Postgres cannot be reached, does not answer in time, or is shutting down. Try again later; nothing is half done. */
export class LogUnavailable extends LogError {
  readonly code = 'log_unavailable';
  readonly retryable = true;
  override readonly name = 'LogUnavailable';
}

/** More waits to be appended than the queue may hold (invariant bounded). Slow down, try again. */
export class LogOverloaded extends LogError {
  readonly code = 'log_overloaded';
  readonly retryable = true;
  override readonly name = 'LogOverloaded';
}

/** `close()` was called. The process is going down; another one goes on. */
export class LogClosed extends LogError {
  readonly code = 'log_closed';
  readonly retryable = true;
  override readonly name = 'LogClosed';
}

/** An event that the log can never hold as it is: the caller has to change it. */
export class UnstorableEvent extends LogError {
  readonly code = 'unstorable_event';
  readonly retryable = false;
  override readonly name = 'UnstorableEvent';
}

/** A statement that Postgres refused for a reason of its own (a bug, or a missing right). */
export class LogRefused extends LogError {
  readonly code = 'log_refused';
  readonly retryable = false;
  override readonly name = 'LogRefused';
}

/** The schema is missing or older than this program. `migrate` mends it; services wait for it. */
export class NotMigrated extends LogError {
  readonly code = 'not_migrated';
  readonly retryable = true;
  override readonly name = 'NotMigrated';
}

/** The data was restored into another cluster, where old transaction ids mean nothing. A person has to raise the epoch. */
export class WrongCluster extends LogError {
  readonly code = 'wrong_cluster';
  readonly retryable = false;
  override readonly name = 'WrongCluster';
}

/** A migration that was applied is not the one in this program any more, or the database is ahead of the program. */
export class MigrationMismatch extends LogError {
  readonly code = 'migration_mismatch';
  readonly retryable = false;
  override readonly name = 'MigrationMismatch';
}

/** A list's cursor that the list did not give out. The caller's mistake: a 400. */
export class InvalidCursor extends LogError {
  readonly code = 'invalid_cursor';
  readonly retryable = false;
  override readonly name = 'InvalidCursor';
}

/** A file that is no export of ours, or only a part of one. A person has to look for the right one. */
export class UnreadableArchive extends LogError {
  readonly code = 'unreadable_archive';
  readonly retryable = false;
  override readonly name = 'UnreadableArchive';
}
