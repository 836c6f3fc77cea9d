import { LogError, LogRefused, LogUnavailable, NotMigrated, UnstorableEvent } from '../errors.ts';

/** SQLSTATEs after which the same statement may succeed: the server stops, starts, is full, or chose a victim. */
const TRANSIENT = new Set([
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '57014', // query_canceled: our statement_timeout
  '55P03', // lock_not_available: our lock_timeout
  '25P03', // idle_in_transaction_session_timeout
  '25006', // read_only_sql_transaction: a failover is under way
  '40001', // serialization_failure
  '40P01', // deadlock_detected
]);
/** The same for classes: connection exceptions, insufficient resources (disk full, too many connections), system errors. */
const TRANSIENT_CLASSES = new Set(['08', '53', '58']);
const MISSING_SCHEMA = new Set(['3F000', '42P01', '42883', '42703']);
const ROLE_REFUSED = new Set(['22023', '42501', '42704']);

export function codeOf(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined;
}

function isSqlState(code: string | undefined): code is string {
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) && !/^E[A-Z]{4}$/.test(code);
}

export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return messageOf(error.errors[0]);
  return error instanceof Error ? error.message || (codeOf(error) ?? error.name) : String(error);
}

/** Connecting failed because of `-c role=...`: there is no such role, or the login may not take it. */
export function isRoleRefused(error: unknown): boolean {
  return ROLE_REFUSED.has(codeOf(error) ?? '') && /role/i.test(messageOf(error));
}

/** Postgres could not make a value of what we sent. Only one append of the batch is to blame. */
function isDataError(error: unknown): boolean {
  const code = codeOf(error);
  return isSqlState(code) && (code.startsWith('22') || code.startsWith('23') || code.startsWith('54'));
}

/** Whether the connection cannot be used any more. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error);
  return !isSqlState(code) || code.startsWith('08') || code.startsWith('57P') || code === '25P03';
}

/** Turns it into one of our own errors. What has no SQLSTATE (ECONNREFUSED, a client-side timeout, a cut connection) is an outage. */
export function toLogError(error: unknown): LogError {
  if (error instanceof LogError) return error;
  const code = codeOf(error);
  const text = messageOf(error);
  if (!isSqlState(code) || TRANSIENT.has(code) || TRANSIENT_CLASSES.has(code.slice(0, 2))) {
    return new LogUnavailable(`Postgres is not available (${text}): try again`, { cause: error });
  }
  if (MISSING_SCHEMA.has(code)) {
    return new NotMigrated(`the schema angelia is missing or too old (${text}): run migrate`, {
      cause: error,
    });
  }
  if (isDataError(error)) {
    return new UnstorableEvent(`Postgres cannot store this (${code}, ${text})`, { cause: error });
  }
  return new LogRefused(`Postgres refused a statement (${code}, ${text})`, { cause: error });
}
