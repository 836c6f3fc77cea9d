import type { IncomingHttpHeaders } from 'node:http';
import { equalsBase64, hmacSha256 } from '../digest.ts';
import { firstHeader, idInHeaders } from '../provider-names.ts';
import { headerOf, type Scheme } from '../scheme.ts';

const HMAC = 'hmac-sha256';
/** Of webhooks, and of the newer events. Each kind has names of its own for everything. */
const PREFIXES = ['x-shopify-', 'shopify-'] as const;

/**
 * Shopify: `X-Shopify-Hmac-Sha256`, or `Shopify-Hmac-Sha256` of its events, is the base64 HMAC-SHA256 of the body; the
 * secret is the app's client secret.
 */
export const shopify: Scheme = {
  name: 'shopify',
  header: 'X-Shopify-Hmac-Sha256',
  claims: (headers) => PREFIXES.some((prefix) => headers[prefix + HMAC] !== undefined),
  verify({ headers, body }, secret) {
    const signature = headerOf(headers, prefixOf(headers) + HMAC);
    return signature !== null && equalsBase64(hmacSha256(secret.key, body), signature);
  },
  // Shopify does not sign these, but has no others.
  provider: {
    id: (request) => {
      const prefix = prefixOf(request.headers);
      return idInHeaders(`${prefix}webhook-id`, `${prefix}event-id`)(request);
    },
    event: ({ headers }) => firstHeader(headers, [`${prefixOf(headers)}topic`]),
  },
};

function prefixOf(headers: IncomingHttpHeaders): string {
  return PREFIXES.find((prefix) => headers[prefix + HMAC] !== undefined) ?? PREFIXES[0];
}
