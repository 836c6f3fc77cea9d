import { nameAt } from '../../admit/event-type.ts';
import { equalsHex, hmacSha256, sha256Hex } from '../digest.ts';
import { eventInHeader, idInHeaders } from '../provider-names.ts';
import { staleAfter } from '../replay-window.ts';
import { claimsHeader, headerOf, type Scheme } from '../scheme.ts';

const HEADER = 'linear-signature';
/** As Linear's own library has it. Linear stamps each attempt anew, so that its retries are fresh. */
const WINDOW_SECONDS = 60;

/**
 * Linear: `Linear-Signature` is the hex HMAC-SHA256 of the body, which holds the time at which it was sent
 * (`webhookTimestamp`, milliseconds). The body is parsed for it only once it is known to be Linear's.
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
  own: {
    // Not signed, but the only one that Linear has.
    id: idInHeaders('linear-delivery'),
    // Linear-Event says the same, unsigned.
    event: (request) => nameAt(request.payload, 'type') ?? eventInHeader('linear-event')(request),
  },
};

function webhookTimestamp(body: Buffer): number | null {
  try {
    const { webhookTimestamp: sentAt } = JSON.parse(body.toString('utf8')) as { webhookTimestamp?: unknown };
    return typeof sentAt === 'number' ? sentAt : null;
  } catch {
    // Signed and no JSON: not Linear's, so that it is refused like everything else that is wrong.
    return null;
  }
}
