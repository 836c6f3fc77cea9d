import { equalsBase64, hmacSha256 } from '../digest.ts';
import { eventInHeader, idInHeaders } from '../provider-names.ts';
import { claimsHeader, headerOf, type Scheme } from '../scheme.ts';

const HEADER = 'x-shopify-hmac-sha256';

/** Shopify: `X-Shopify-Hmac-Sha256` is the base64 HMAC-SHA256 of the body; the secret is the app's client secret. */
export const shopify: Scheme = {
  name: 'shopify',
  header: 'X-Shopify-Hmac-Sha256',
  claims: claimsHeader(HEADER),
  verify({ headers, body }, secret) {
    const signature = headerOf(headers, HEADER);
    return signature !== null && equalsBase64(hmacSha256(secret.key, body), signature);
  },
  // Shopify does not sign these, but has no others.
  provider: {
    id: idInHeaders('x-shopify-webhook-id', 'x-shopify-event-id'),
    event: eventInHeader('x-shopify-topic'),
  },
};
