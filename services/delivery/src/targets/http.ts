import { Agent, type Dispatcher } from 'undici';
import type { SendWindow } from '../send-window.ts';
import { AddressRefused, publicOnlyLookup, refuseLiteralPrivateHost } from './address-safety.ts';
import { type HttpAddress, parseHeaders, parseHttpAddress } from './http-address.ts';
import { classifyAnswer } from './http-answer.ts';
import type { OutboundMessage, SendResult, Target, TargetSettings } from './target.ts';
import { type Signer, signerOf } from './webhook-signature.ts';

/** As many as may send to one destination at once: none queues behind another inside the pool, with its claim running out. */
export const CONNECTIONS_PER_ORIGIN = 64;
/** An answer is read to its end only to keep the connection; more than this is not worth a connection. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** The rest of an answer whose status we know already. */
const ANSWER_BODY_TIMEOUT_MS = 5_000;
/** Idle connections: below the 5 s after which Node's servers close, so that we seldom write to one being closed. */
const KEEP_ALIVE_MS = 4_000;

interface HttpTargetOptions {
  /** Certificates to trust besides the system's; for tests with a server of their own. */
  readonly ca?: string;
  readonly resolve?: Parameters<typeof publicOnlyLookup>[0];
}

/**
 * Posts JSON, signed by Standard Webhooks (INTERFACES.md, "The http target"). Two pools: connections of the one were
 * checked to lead to public addresses, and are never lent to the other.
 */
export function httpTarget(options: HttpTargetOptions = {}): Target {
  const pool = (connect: { lookup?: ReturnType<typeof publicOnlyLookup> }) =>
    new Agent({
      connections: CONNECTIONS_PER_ORIGIN,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      bodyTimeout: ANSWER_BODY_TIMEOUT_MS,
      // The window's signal ends a request; a second clock in the pool would only blur whose timeout it was.
      headersTimeout: 0,
      connect: options.ca === undefined ? connect : { ...connect, ca: options.ca },
    });
  const anywhere = pool({});
  const publicOnly = pool({ lookup: publicOnlyLookup(options.resolve) });
  const signers = new Map<string, Signer>();

  function signer(secret: string): Signer {
    const known = signers.get(secret);
    if (known) return known;
    const made = signerOf(secret);
    signers.set(secret, made);
    return made;
  }

  return {
    name: 'http',

    checkSettings(settings) {
      const problems: string[] = [];
      const check = (prefix: string, act: () => void) => {
        try {
          act();
        } catch (error) {
          problems.push(`${prefix}${messageOf(error)}`);
        }
      };
      const { secret } = settings;
      if (typeof secret === 'string') check('secret: ', () => signer(secret));
      check('', () => parseHeaders(settings.headers, 'headers'));
      return problems;
    },

    destination(address) {
      const { url } = address.to;
      return typeof url === 'string' && URL.canParse(url) ? `http ${new URL(url).origin}` : 'http';
    },

    async send({ message, address, settings, idempotencyKey, window }) {
      let to: HttpAddress;
      let headers: Record<string, string>;
      const body = bodyOf(message);
      try {
        to = parseHttpAddress(address, settings);
        if (to.publicOnly) refuseLiteralPrivateHost(to.url);
        headers = { ...to.headers, ...ownHeaders(idempotencyKey, body, settings, signer) };
      } catch (error) {
        return { kind: 'permanent', reason: describeRefusal(error) };
      }
      return await post(to.publicOnly ? publicOnly : anywhere, to.url, headers, body, window);
    },

    async close() {
      await Promise.all([anywhere.destroy(), publicOnly.destroy()]);
    },
  };
}

function bodyOf(message: OutboundMessage): string {
  return JSON.stringify({
    type: message.type,
    session_id: message.sessionId,
    delivery_id: message.deliveryId,
    route: message.route,
    text: message.text,
    version: message.version,
    possible_duplicate: message.possibleDuplicate,
  });
}

function ownHeaders(
  id: string,
  body: string,
  settings: TargetSettings,
  signer: (secret: string) => Signer,
): Record<string, string> {
  const now = new Date();
  const headers: Record<string, string> = {
    'content-type': 'application/json; charset=utf-8',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
  };
  if (typeof settings.secret === 'string')
    headers['webhook-signature'] = signer(settings.secret)(id, now, body);
  return headers;
}

/**
 * One POST. undici calls `onRequestStart` in the same turn of the event loop in which it writes to the socket, so it
 * is where the time left is checked, and it tells an attempt that was surely not sent from one of unknown outcome.
 */
function post(
  pool: Dispatcher,
  url: URL,
  headers: Record<string, string>,
  body: string,
  window: SendWindow,
): Promise<SendResult> {
  return new Promise((resolve) => {
    let written = false;
    let settled = false;
    let answerBytes = 0;
    let request: Dispatcher.DispatchController | undefined;

    const settle = (result: SendResult) => {
      if (settled) return;
      settled = true;
      window.signal.removeEventListener('abort', onTimeout);
      resolve(result);
    };
    const onTimeout = () => {
      settle(
        written
          ? { kind: 'unknown', reason: `no answer from ${url.origin} in time` }
          : { kind: 'retryable', reason: `not sent: no connection to ${url.origin} in time` },
      );
      request?.abort(new Error('the request had its time'));
    };
    window.signal.addEventListener('abort', onTimeout, { once: true });

    pool.dispatch(
      { origin: url.origin, path: `${url.pathname}${url.search}`, method: 'POST', headers, body },
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
        onResponseStart(_controller, status, answerHeaders) {
          // 1xx: the answer is still to come.
          if (status >= 200) settle(classifyAnswer(status, answerHeaders, url.origin, Date.now()));
        },
        onResponseData(controller, chunk) {
          answerBytes += chunk.length;
          if (answerBytes > MAX_ANSWER_BYTES)
            controller.abort(new Error('the answer is too long to be read'));
        },
        onResponseEnd() {
          settle({ kind: 'unknown', reason: `${url.origin} ended without an answer` });
        },
        onResponseError(_controller, error) {
          settle(classifyError(error, written, url.origin));
        },
      },
    );
  });
}

/** What a broken request means. After the answer's status is known nothing here counts any more. */
export function classifyError(error: Error, written: boolean, origin: string): SendResult {
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

function describeRefusal(error: unknown): string {
  return error instanceof AddressRefused
    ? `address refused: ${error.message} (targets.http.allow_private_networks: true would allow it)`
    : messageOf(error);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
