import { AngeliaError } from '@angelia/contracts';

/** Thrown by our own clients when no whole answer came. as-model-failure.ts makes a ModelFailure of it. */
export class BrokenExchange extends AngeliaError {
  override readonly name = 'BrokenExchange';
  readonly code: 'connect' | 'cut_off' | 'protocol';
  readonly retryable = true;

  constructor(code: BrokenExchange['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** Never quote what came: it may be the answer, which must not go into a log. */
export const notTheProtocol = (): BrokenExchange =>
  new BrokenExchange('protocol', 'an answer that is not the protocol');

/** Thrown by our own clients for a status other than 2xx. It has the fields of the SDK's APICallError. */
export class RefusedCall extends AngeliaError {
  override readonly name = 'RefusedCall';
  readonly code = 'refused_call';
  readonly retryable = false;
  readonly statusCode: number;
  readonly responseHeaders: { readonly 'retry-after'?: string };
  readonly responseBody: string;

  constructor(message: string, response: { status: number; retryAfter: string | undefined; body: string }) {
    super(message);
    this.statusCode = response.status;
    this.responseHeaders = response.retryAfter === undefined ? {} : { 'retry-after': response.retryAfter };
    this.responseBody = response.body;
  }
}
