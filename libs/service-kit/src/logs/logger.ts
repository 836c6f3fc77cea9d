import { REDACTED } from '@angelia/config';
import { isSecretKey } from '@angelia/contracts';
import { traceIdNow } from '@angelia/sessions';
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import { KnownSecrets } from './known-secrets.ts';

export type { Logger } from 'pino';

interface LoggerOptions {
  readonly service: string;
  readonly instance: string;
  readonly level: string;
  /** Values of config and environment that the log must never show. */
  readonly secrets?: Iterable<string> | KnownSecrets;
  /** Default: stdout, written without blocking the event loop and flushed at exit. */
  readonly destination?: DestinationStream;
}

/** How deep and wide a logged object is searched for secrets. What lies beyond is cut off, never logged unchecked. */
const MAX_DEPTH = 6;
const MAX_ITEMS = 200;
/** A longer stack or message tells nothing more. */
const MAX_TEXT = 16_384;

/** JSON lines: level, time, service, instance, trace_id, then the caller's fields (session_id above all). */
export function createLogger(options: LoggerOptions): Logger {
  const { secrets = [] } = options;
  const known = secrets instanceof KnownSecrets ? secrets : new KnownSecrets(secrets);
  return pino(
    {
      level: options.level,
      base: { service: options.service, instance: options.instance },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: (fields) => loggable(fields) },
      // `loggable` turns errors into plain objects at any depth.
      serializers: { err: (value) => value },
      mixin: () => {
        const traceId = traceIdNow();
        return traceId === undefined ? {} : { trace_id: traceId };
      },
      hooks: { streamWrite: (line) => known.scrub(line) },
    },
    options.destination ?? pino.destination({ dest: 1, sync: false }),
  );
}

function loggable(fields: Record<string, unknown>): Record<string, unknown> {
  const plain: Record<string, unknown> = {};
  for (const key of Object.keys(fields)) plain[key] = loggableValue(key, fields[key], 1);
  return plain;
}

function loggableValue(key: string, value: unknown, depth: number): unknown {
  if (typeof value === 'string') return isSecretKey(key) ? REDACTED : cut(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return loggableError(value, depth);
  if (value instanceof Date) return value;
  if (depth >= MAX_DEPTH) return '[deeper]';
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) {
    return value.slice(0, MAX_ITEMS).map((item) => loggableValue(key, item, depth + 1));
  }
  const entries = value instanceof Map ? [...value.entries()] : Object.entries(value);
  return Object.fromEntries(
    entries
      .slice(0, MAX_ITEMS)
      .map(([name, item]) => [String(name), loggableValue(String(name), item, depth + 1)]),
  );
}

/**
 * Only the parts of an error that are known to be harmless. Errors of HTTP clients carry the request with its headers, and
 * errors of Postgres the refused row: neither belongs in a log.
 */
function loggableError(error: Error, depth: number): Record<string, unknown> {
  const { code, retryable, cause } = error as { code?: unknown; retryable?: unknown; cause?: unknown };
  const aggregated = error instanceof AggregateError ? error.errors : undefined;
  return {
    type: error.name,
    message: cut(error.message),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(typeof retryable === 'boolean' ? { retryable } : {}),
    stack: cut(error.stack ?? ''),
    ...(cause !== undefined && depth < MAX_DEPTH ? { cause: loggableValue('cause', cause, depth + 1) } : {}),
    ...(aggregated !== undefined && depth < MAX_DEPTH
      ? { errors: aggregated.slice(0, 5).map((one) => loggableValue('error', one, depth + 1)) }
      : {}),
  };
}

function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}... (${text.length} characters)` : text;
}
