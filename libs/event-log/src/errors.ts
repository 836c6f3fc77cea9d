import { AngeliaError } from '@angelia/contracts';

/**
 * What the log throws. Each error has a stable `code`, and says whether the same call can succeed later (`retryable`).
 * Verdicts of an append (conflict, duplicate, leased) are results, not errors: the caller decides again on them.
 */
export abstract class LogError extends AngeliaError {}

/** Postgres cannot be reached, does not answer in time, or is shutting down. Try again later; nothing is half done. */
export class LogUnavailable extends LogError {
  readonly code = 'log_unavailable';
  readonly retryable = true;
  override readonly name = 'LogUnavailable';
}

/** More appends wait than the queue may hold (invariant bounded). Slow down, then try again. */
export class LogOverloaded extends LogError {
  readonly code = 'log_overloaded';
  readonly retryable = true;
  override readonly name = 'LogOverloaded';
}

/** `close()` was called. This process is stopping; another one goes on. */
export class LogClosed extends LogError {
  readonly code = 'log_closed';
  readonly retryable = true;
  override readonly name = 'LogClosed';
}

/** The log can never hold this event as it is. The caller has to change it. */
export class UnstorableEvent extends LogError {
  readonly code = 'unstorable_event';
  readonly retryable = false;
  override readonly name = 'UnstorableEvent';
}

/** Postgres refused a statement for another reason (a bug, or a missing right). */
export class LogRefused extends LogError {
  readonly code = 'log_refused';
  readonly retryable = false;
  override readonly name = 'LogRefused';
}

/** The schema is missing or older than this program. Run `migrate`; services wait for it. */
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

/** An applied migration differs from the one in this program. A person has to restore the file. */
export class MigrationMismatch extends LogError {
  readonly code = 'migration_mismatch';
  readonly retryable = false;
  override readonly name = 'MigrationMismatch';
}

/** The list did not hand out this cursor. The caller's mistake: a 400. */
export class InvalidCursor extends LogError {
  readonly code = 'invalid_cursor';
  readonly retryable = false;
  override readonly name = 'InvalidCursor';
}

/** More sessions match than can be sorted in one go. The caller's mistake: a 400. Narrow the filter. */
export class TooManyToSort extends LogError {
  readonly code = 'too_many_to_sort';
  readonly retryable = false;
  override readonly name = 'TooManyToSort';
}

/** A program of an earlier version made the views, and they are being rebuilt. Try again in some minutes. */
export class ViewsOutdated extends LogError {
  readonly code = 'views_outdated';
  readonly retryable = true;
  override readonly name = 'ViewsOutdated';
}

/** The file is not an export of ours, or only a part of one. A person has to find the right one. */
export class UnreadableArchive extends LogError {
  readonly code = 'unreadable_archive';
  readonly retryable = false;
  override readonly name = 'UnreadableArchive';
}
