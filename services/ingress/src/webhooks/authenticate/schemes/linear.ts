import { nameAt } from '../../payload/lookup.ts';
import { equalsHex, hmacSha256, sha256Hex } from '../digest.ts';
import { eventInHeader, idInHeaders } from '../provider-names.ts';
import { staleAfter } from '../replay-window.ts';
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
  claims: claimsHeader(HEADER),
  verify({ headers, body, nowMs }, secret) {
    const signature = headerOf(headers, HEADER);
    if (signature === null || !equalsHex(hmacSha256(secret.key, body), signature)) return false;
    const sentAt = webhookTimestamp(body);
    return sentAt !== null && Math.abs(nowMs - sentAt) <= WINDOW_SECONDS * 1000;
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
