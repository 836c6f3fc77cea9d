import { Agent, type Dispatcher } from 'undici';
import type { SendResult, SendWindow } from '../target.ts';
import { AddressRefused } from './public-addresses.ts';

/** As many as may send to one destination at once: none queues behind another inside the pool, with its claim running out. */
export const CONNECTIONS_PER_ORIGIN = 128;
/** More of an answer is never read (look-ups ask for more): no platform says so much, and who does is not worth a connection. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** The rest of an answer whose status we know already. */
const ANSWER_BODY_TIMEOUT_MS = 5_000;
/** Idle connections: below the 5 s after which Node's servers close, so that we seldom write to one being closed. */
const KEEP_ALIVE_MS = 4_000;

/** Connections of one target. TLS is verified; redirects are never followed: they would lead away from the host that was trusted or checked. */
export function connections(connect: Agent.Options['connect'] & object = {}): Agent {
  return new Agent({
    connections: CONNECTIONS_PER_ORIGIN,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    bodyTimeout: ANSWER_BODY_TIMEOUT_MS,
    // The window's signal ends a request; a second clock in the pool would only blur whose timeout it was.
    headersTimeout: 0,
    connect,
  });
}

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Nothing is changed by it (a look-up): no answer means not done, never unknown. */
  readonly safe?: boolean;
}

export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The platform's answer, whatever its status, or why there is none. */
export type CallResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly headers: AnswerHeaders;
      /** All of the body, or '' when it was too long, broken off or not asked for. */
      readonly body: string;
    }
  | Exclude<SendResult, { kind: 'taken' }>;

/**
 * One request. undici calls `onRequestStart` in the same turn of the event loop in which it writes to the socket, so it
 * is where the time left is checked, and it tells an attempt that was surely not sent from one of unknown outcome.
 * `readBody: false` answers as soon as the status is there; `maxBytes` is for look-ups, which list many messages.
 */
export function callHttp(
  pool: Dispatcher,
  call: HttpCall,
  window: SendWindow,
  options: { readonly readBody: boolean; readonly maxBytes?: number } = { readBody: true },
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
    const unfinished = (reason: string): CallResult =>
      call.safe ? { kind: 'retryable', reason } : { kind: 'unknown', reason };
    const onTimeout = () => {
      answered('');
      settle(
        written
          ? unfinished(`no answer from ${url.origin} in time`)
          : { kind: 'retryable', reason: `not sent: no connection to ${url.origin} in time` },
      );
      request?.abort(new Error('the request had its time'));
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
          // 1xx: the answer is still to come.
          if (status < 200) return;
          answer = { status, headers };
          if (!options.readBody) answered('');
        },
        onResponseData(controller, chunk) {
          answerBytes += chunk.length;
          if (answerBytes > (options.maxBytes ?? MAX_ANSWER_BYTES)) {
            answered('');
            controller.abort(new Error('the answer is too long to be read'));
          } else if (options.readBody) chunks.push(chunk);
        },
        onResponseEnd() {
          answered(Buffer.concat(chunks).toString('utf8'));
          settle(unfinished(`${url.origin} ended without an answer`));
        },
        onResponseError(_controller, error) {
          // The status counts, however the body ended.
          answered('');
          settle(classifyError(error, written && !call.safe, url.origin));
        },
      },
    );
  });
}

/** What a broken request means. After the answer's status is known nothing here counts any more. */
export function classifyError(
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
