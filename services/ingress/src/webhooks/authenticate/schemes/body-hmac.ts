import { equalsHex, hmacSha256 } from '../digest.ts';
import { claimsHeader, headerOf, type Scheme } from '../scheme.ts';

const HEADER = 'x-webhook-signature';
const PREFIX = 'sha256=';

/** The older generic scheme of Hermes: `X-Webhook-Signature` is the hex HMAC-SHA256 of the body, with or without `sha256=` before it. */
export const bodyHmac: Scheme = {
  name: 'hmac-body',
  header: 'X-Webhook-Signature',
  claims: claimsHeader(HEADER),
  verify({ headers, body }, secret) {
    const signature = headerOf(headers, HEADER);
    if (signature === null) return false;
    const hex = signature.startsWith(PREFIX) ? signature.slice(PREFIX.length) : signature;
    return equalsHex(hmacSha256(secret.key, body), hex);
  },
  weakness:
    'X-Webhook-Signature has no timestamp, so anybody who captures a request can send it again: let the sender use X-Webhook-Signature-V2 with X-Webhook-Timestamp',
};
