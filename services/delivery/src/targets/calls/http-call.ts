import { Agent, type Dispatcher } from 'undici';
import type { SendResult, SendWindow } from '../target.ts';
import { AddressRefused } from './public-addresses.ts';

/** As many as may send to one destination at once: no request queues inside the pool while its claim runs out. */
export const CONNECTIONS_PER_ORIGIN = 128;
/** No more of an answer is read, except by look-ups: no platform says so much, and keeping the connection is not worth it. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** As much as is read of a refusal for its words. The first few are shown; a page of HTML has a head before them. */
const MAX_REFUSAL_BYTES = 8 * 1024;
/** For the rest of an answer whose status we know already. */
const ANSWER_BODY_TIMEOUT_MS = 5_000;
/** For idle connections. Below the 5 s after which Node's servers close them, so we seldom write to one that is being closed. */
const KEEP_ALIVE_MS = 4_000;

/** The connections of one target. TLS is verified. Redirects are never followed: they would lead away from the checked host. */
export function connections(connect: Agent.Options['connect'] & object = {}): Agent {
  return new Agent({
    connections: CONNECTIONS_PER_ORIGIN,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    bodyTimeout: ANSWER_BODY_TIMEOUT_MS,
    // The window's signal ends a request. A second timeout in the pool would only hide which one it was.
    headersTimeout: 0,
    connect,
  });
}

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** It changes nothing (a look-up): no answer means not done, never unknown. */
  readonly safe?: boolean;
}

export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The platform's answer, whatever its status, or why there is none. */
export type CallResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly headers: AnswerHeaders;
      /** The whole body, or '' if it was too long, broke off or was not asked for. With `'refusals'`, its beginning. */
      readonly body: string;
    }
  | Exclude<SendResult, { kind: 'taken' }>;

/**
 * Makes one request. undici calls `onRequestStart` in the same turn of the event loop in which it writes to the socket. So the
 * time left is checked there, and it separates an attempt that was not sent from one with an unknown outcome.
 * `readBody: 'refusals'` resolves as soon as a 2xx is there and reads only the beginning of any other answer; `maxBytes` is for
 * look-ups, which list many messages.
 */
export function callHttp(
  pool: Dispatcher,
  call: HttpCall,
  window: SendWindow,
  options: { readonly readBody: true | 'refusals'; readonly maxBytes?: number } = { readBody: true },
): Promise<CallResult> {
  const { url } = call;
  return new Promise((resolve) => {
    let written = false;
    let settled = false;
    let answer: { status: number; headers: AnswerHeaders } | null = null;
    const chunks: Buffer[] = [];
    let answerBytes = 0;
    let request: Dispatcher.DispatchController | undefined;

    const settle = (result: CallResult) => {
      if (settled) return;
      settled = true;
      window.signal.removeEventListener('abort', onTimeout);
      resolve(result);
    };
    const answered = (body: string) => {
      if (answer !== null) settle({ kind: 'answered', ...answer, body });
    };
    /** What is there of an answer that ends early. Only of a refusal is a part of any use. */
    const brokenOff = () => answered(options.readBody === 'refusals' ? textOf(chunks) : '');
    const unfinished = (reason: string): CallResult =>
      call.safe ? { kind: 'retryable', reason } : { kind: 'unknown', reason };
    const onTimeout = () => {
      brokenOff();
      settle(
        written
          ? unfinished(`no answer from ${url.origin} in time`)
          : { kind: 'retryable', reason: `not sent: no connection to ${url.origin} in time` },
      );
      request?.abort(new Error('the request ran out of time'));
    };
    if (window.signal.aborted) {
      settle({ kind: 'retryable', reason: 'not sent: the claim ran out of time' });
      return;
    }
    window.signal.addEventListener('abort', onTimeout, { once: true });

    pool.dispatch(
      {
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: call.method,
        headers: call.headers,
        body: call.body ?? null,
      },
      {
        onRequestStart(controller) {
          request = controller;
          if (settled || !window.mayBegin()) {
            settle({ kind: 'retryable', reason: 'not sent: the claim ran out of time' });
            controller.abort(new Error('the claim ran out of time'));
            return;
          }
          written = true;
        },
        onResponseStart(_controller, status, headers) {
          // 1xx: the answer follows.
          if (status < 200) return;
          answer = { status, headers };
          if (options.readBody === 'refusals' && status < 300) answered('');
        },
        onResponseData(controller, chunk) {
          answerBytes += chunk.length;
          if (answerBytes > (options.maxBytes ?? MAX_ANSWER_BYTES)) {
            brokenOff();
            controller.abort(new Error('the answer is too long to be read'));
          } else if (!settled) {
            chunks.push(chunk);
            // The rest is read only to keep the connection.
            if (options.readBody === 'refusals' && answerBytes >= MAX_REFUSAL_BYTES) brokenOff();
          }
        },
        onResponseEnd() {
          answered(textOf(chunks));
          settle(unfinished(`${url.origin} ended without an answer`));
        },
        onResponseError(_controller, error) {
          // The status counts, however the body ended.
          brokenOff();
          settle(classifyError(error, written && !call.safe, url.origin));
        },
      },
    );
  });
}

function textOf(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).toString('utf8');
}

/** What a broken request means. Once the status of the answer is known, this no longer matters. */
function classifyError(
  error: Error,
  written: boolean,
  origin: string,
): Exclude<SendResult, { kind: 'taken' }> {
  if (error instanceof AddressRefused) return { kind: 'permanent', reason: describeRefusal(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  if (written)
    return { kind: 'unknown', reason: `the connection to ${origin} broke before the answer (${code})` };
  if (isCertificateProblem(code)) {
    return { kind: 'retryable', reason: `not sent: the certificate of ${origin} was not accepted (${code})` };
  }
  return { kind: 'retryable', reason: `not sent: no connection to ${origin} (${code})` };
}

function isCertificateProblem(code: string): boolean {
  return (
    code.includes('CERT') ||
    code === 'ERR_TLS_CERT_ALTNAME_INVALID' ||
    code === 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'
  );
}

export function describeRefusal(error: unknown): string {
  return error instanceof AddressRefused
    ? `address refused: ${error.message} (targets.http.allow_private_networks: true would allow it)`
    : messageOf(error);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
