/**
 * A request that is answered with an error. Thrown by a step of the pipeline or by the API, turned into
 * `{"error": message}` in one place (answer-error.ts). The message goes to the sender as it is: it says what is
 * wrong, where, and what to do, and never holds a secret.
 */
export class Refusal extends Error {
  readonly status: RefusalStatus;
  /** Stable, for logs and counters. */
  readonly code: string;
  readonly retryAfterSeconds: number | null;

  constructor(status: RefusalStatus, code: string, message: string, retryAfterSeconds: number | null = null) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export type RefusalStatus = 400 | 401 | 403 | 404 | 408 | 409 | 410 | 412 | 413 | 415 | 429 | 501 | 503;
