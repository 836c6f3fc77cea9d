import { equalsHex, hmacSha256, sha256Hex } from '../digest.ts';
import { isFresh, REPLAY_WINDOW_SECONDS, staleAfter, timestampProblem } from '../replay-window.ts';
import { claimsHeader, headerOf, type Scheme } from '../scheme.ts';

const HEADER = 'x-webhook-signature-v2';
const TIMESTAMP = 'x-webhook-timestamp';

/**
 * The generic scheme of Hermes: `X-Webhook-Signature-V2` is the hex HMAC-SHA256 of `<timestamp>.<body>`, with
 * the timestamp exactly as in `X-Webhook-Timestamp` (Unix seconds).
 */
export const timestampedHmac: Scheme = {
  name: 'hmac',
  header: 'X-Webhook-Signature-V2',
  claims: claimsHeader(HEADER),
  verify({ headers, body, nowMs }, secret) {
    const signature = headerOf(headers, HEADER);
    const timestamp = headerOf(headers, TIMESTAMP);
    if (signature === null || !isFresh(timestamp, nowMs)) return false;
    return equalsHex(hmacSha256(secret.key, `${timestamp}.`, body), signature);
  },
  problem: ({ headers, nowMs }) =>
    timestampProblem('X-Webhook-Timestamp', headerOf(headers, TIMESTAMP), nowMs),
  signed: ({ headers, body }) => ({
    sha256: sha256Hex(`${headerOf(headers, TIMESTAMP)}.`, body),
    staleAfterSeconds: staleAfter(REPLAY_WINDOW_SECONDS),
  }),
};
