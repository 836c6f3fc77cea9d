import { equalsHex, hmacSha256 } from './digest.ts';
import { isFresh } from './replay-window.ts';
import { claimsHeader, headerOf, type Scheme } from './scheme.ts';

const HEADER = 'x-webhook-signature-v2';

/**
 * The generic scheme of Hermes: `X-Webhook-Signature-V2` is the hex HMAC-SHA256 of `<timestamp>.<body>`, with
 * the timestamp exactly as it stands in `X-Webhook-Timestamp` (Unix seconds).
 */
export const timestampedHmac: Scheme = {
  name: 'hmac',
  claims: claimsHeader(HEADER),
  verify({ headers, body, nowMs }, secret) {
    const signature = headerOf(headers, HEADER);
    const timestamp = headerOf(headers, 'x-webhook-timestamp');
    if (signature === null || !isFresh(timestamp, nowMs)) return false;
    return equalsHex(hmacSha256(secret.key, `${timestamp}.`, body), signature);
  },
};
