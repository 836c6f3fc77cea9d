/**
 * The base of every error that we throw on purpose. `code` is stable: tests, metrics and clients may compare it.
 * `retryable` says whether the same call can succeed later without anybody changing anything. The message says what
 * is wrong and where; `whatToDo` says what the reader can do about it, if the message does not make that clear.
 */
export abstract class AngeliaError extends Error {
  abstract readonly code: string;
  abstract readonly retryable: boolean;
  readonly whatToDo: string | null = null;
}

/** Whether the same call can succeed later. Also true for errors of others that carry `retryable: true`. */
export function isRetryable(error: unknown): boolean {
  return saysRetryable(error) === true;
}

/** Whether the error says that a retry cannot help. An error that says nothing is neither. */
export function isPermanent(error: unknown): boolean {
  return saysRetryable(error) === false;
}

function saysRetryable(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'retryable' in error ? error.retryable : undefined;
}
