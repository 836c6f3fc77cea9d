import { beginning, visibleText } from '../parts/text/visible-text.ts';

/**
 * Thrown by `ask` when the gateway refuses a call, or cannot be reached (status 0). The message is the gateway's own: it says
 * what is wrong and what to do, so views show it as it is.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** 0: no answer came. */
  readonly status: number;
  /** Seconds after which a retry makes sense; null if the gateway did not say. */
  readonly retryAfter: number | null;

  constructor(status: number, message: string, retryAfter: number | null = null) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }

  /** A retry can help: the gateway is away, busy or starting. */
  get passes(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** A message of the gateway has a sentence or two. */
const MOST_SHOWN = 2_000;

export const UNREACHABLE =
  'The gateway does not answer. It may be restarting: this page reconnects by itself as soon as it is back.';

/** What a person reads about an error, whatever was thrown. The gateway may quote a stranger: a platform, a model, a payload. */
export function messageOf(error: unknown): string {
  if (error instanceof Error && error.message !== '')
    return visibleText(beginning(error.message, MOST_SHOWN));
  return 'Something went wrong in the console itself. Reload the page; if it happens again, report it.';
}
