import { AngeliaError } from '@angelia/contracts';

/**
 * Thrown by a step of a webhook or by the API when the request is answered with an error. answer-error.ts turns it into
 * `{"error": message}`. The client reads the message: it says what is wrong, where, and what to do, and never contains
 * a secret.
 */
export class Refusal extends AngeliaError {
  override readonly name = 'Refusal';
  readonly status: RefusalStatus;
  /** Stable, for logs and counters. */
  readonly code: string;
  readonly retryable: boolean;
  readonly retryAfterSeconds: number | null;
  /** What only the operator may know: more than the message says. No secret, no signature. */
  readonly detail: string | null;

  constructor(
    status: RefusalStatus,
    code: string,
    message: string,
    retryAfterSeconds: number | null = null,
    detail: string | null = null,
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryable = status === 408 || status === 429 || status === 503;
    this.retryAfterSeconds = retryAfterSeconds;
    this.detail = detail;
  }
}

/** The client is also told the code, because it does different things for different reasons: the page of the console. */
export class CodedRefusal extends Refusal {}

type RefusalStatus = 400 | 401 | 403 | 404 | 408 | 409 | 410 | 412 | 413 | 415 | 422 | 429 | 501 | 503;
