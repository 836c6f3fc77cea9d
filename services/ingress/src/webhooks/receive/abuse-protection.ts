import type { IncomingHttpHeaders } from 'node:http';
import { Refusal } from '../../http/refusal.ts';

/** The name of a host (RFC 1123). */
const ORIGIN = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/;
const RATE = /^[1-9][0-9]{0,8}$/;

/**
 * The answer to `OPTIONS` of a route. Senders of CloudEvents (Azure Event Grid) ask in this way whether they may send
 * here ("abuse protection" of the CloudEvents specification of web hooks). A route agrees with every sender, because it
 * checks the signature or token of whatever is sent. `WebHook-Request-Callback` is not called: the answer is given here,
 * and nobody without a secret may choose an address for us to call.
 *
 * @throws Refusal 400 for an origin that is not a host name
 */
export function handshakeHeaders(
  headers: IncomingHttpHeaders,
  perMinute: number | null,
): Readonly<Record<string, string>> {
  const allow = { allow: 'OPTIONS, POST' };
  const origin = headers['webhook-request-origin'];
  if (origin === undefined) return allow;
  if (typeof origin !== 'string' || !ORIGIN.test(origin)) {
    throw new Refusal(400, 'invalid_origin', 'WebHook-Request-Origin is not the name of a host');
  }
  const rate = allowedRate(headers['webhook-request-rate'], perMinute);
  return {
    ...allow,
    'webhook-allowed-origin': origin,
    ...(rate === null ? {} : { 'webhook-allowed-rate': rate }),
  };
}

/** In requests per minute. null: the sender did not ask, and the route has no limit. */
function allowedRate(asked: string | string[] | undefined, perMinute: number | null): string | null {
  if (asked === undefined) return perMinute === null ? null : String(perMinute);
  const wanted = typeof asked === 'string' && RATE.test(asked) ? Number(asked) : null;
  if (wanted === null) return perMinute === null ? '*' : String(perMinute);
  return String(perMinute === null ? wanted : Math.min(wanted, perMinute));
}
