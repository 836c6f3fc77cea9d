import { nameAt } from '../../payload/lookup.ts';
import { equalsHex, hmacSha256, sha256Hex } from '../digest.ts';
import { eventInHeader, idInHeaders } from '../provider-names.ts';
import { offBy, staleAfter } from '../replay-window.ts';
import { claimsHeader, headerOf, type Scheme } from '../scheme.ts';

const HEADER = 'linear-signature';
/** The same as in Linear's own library. Linear puts a new time on each attempt, so its retries are fresh. */
const WINDOW_SECONDS = 60;

/**
 * Linear: `Linear-Signature` is the hex HMAC-SHA256 of the body, which holds the time of sending (`webhookTimestamp`,
 * milliseconds). The body is parsed for that time only after the signature matches.
 */
export const linear: Scheme = {
  name: 'linear',
  header: 'Linear-Signature',
  claims: claimsHeader(HEADER),
  verify({ headers, body, nowMs }, secret) {
    const signature = headerOf(headers, HEADER);
    if (signature === null || !equalsHex(hmacSha256(secret.key, body), signature)) return false;
    const sentAt = webhookTimestamp(body);
    return sentAt !== null && Math.abs(nowMs - sentAt) <= WINDOW_SECONDS * 1000;
  },
  // Signs again, because only a signed body is parsed. A request that is refused costs one more HMAC.
  problem({ headers, body, nowMs }, secrets) {
    const signature = headerOf(headers, HEADER) ?? '';
    if (!secrets.some(({ key }) => equalsHex(hmacSha256(key, body), signature))) return null;
    const sentAt = webhookTimestamp(body);
    if (sentAt === null) return 'the body has no `webhookTimestamp`';
    return offBy('`webhookTimestamp` in the body', (sentAt - nowMs) / 1000, WINDOW_SECONDS);
  },
  signed: ({ body }) => ({ sha256: sha256Hex(body), staleAfterSeconds: staleAfter(WINDOW_SECONDS) }),
  provider: {
    // Linear does not sign it, but has no other.
    id: idInHeaders('linear-delivery'),
    // Linear-Event says the same, but is not signed.
    event: (request) => nameAt(request.payload, 'type') ?? eventInHeader('linear-event')(request),
  },
};

function webhookTimestamp(body: Buffer): number | null {
  try {
    const { webhookTimestamp: sentAt } = JSON.parse(body.toString('utf8')) as { webhookTimestamp?: unknown };
    return typeof sentAt === 'number' ? sentAt : null;
  } catch {
    // Signed, but not JSON: it is not from Linear, and is refused like any other wrong request.
    return null;
  }
}
