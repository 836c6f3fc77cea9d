import { nameAt } from '../../payload/lookup.ts';
import { equalsHex, hmacSha256 } from '../digest.ts';
import { isFresh, timestampProblem } from '../replay-window.ts';
import { claimsHeader, headerOf, type Scheme } from '../scheme.ts';

const HEADER = 'stripe-signature';
/** The `id` of an event. Objects of other kinds have other prefixes. */
const EVENT_ID = /^evt_\w/;
/** Stripe sends one per active secret. A header with more is not from Stripe. */
const MOST_PARTS = 16;

/**
 * Stripe: `Stripe-Signature: t=<Unix seconds>,v1=<hex HMAC-SHA256 of "t.body">`, several `v1` while a secret is rolled.
 * The secret is the whole text that Stripe shows, `whsec_` included. `v0` belongs to test mode and proves nothing.
 */
export const stripe: Scheme = {
  name: 'stripe',
  header: 'Stripe-Signature',
  claims: claimsHeader(HEADER),
  verify({ headers, body, nowMs }, secret) {
    const { timestamp, signatures } = partsOf(headerOf(headers, HEADER));
    if (!isFresh(timestamp, nowMs)) return false;
    const digest = hmacSha256(secret.key, `${timestamp}.`, body);
    let valid = false;
    for (const signature of signatures) valid = equalsHex(digest, signature) || valid;
    return valid;
  },
  problem({ headers, nowMs }) {
    const { timestamp } = partsOf(headerOf(headers, HEADER));
    return timestamp === null
      ? 'Stripe-Signature has no time (`t=`)'
      : timestampProblem('the time in Stripe-Signature', timestamp, nowMs);
  },
  provider: {
    id: ({ payload }) => {
      const text = nameAt(payload, 'id');
      return text !== null && EVENT_ID.test(text) ? { text } : null;
    },
    idIsSigned: true,
    event: ({ payload }) => nameAt(payload, 'type'),
    eventIsSigned: true,
  },
};

function partsOf(header: string | null): { timestamp: string | null; signatures: string[] } {
  let timestamp: string | null = null;
  const signatures: string[] = [];
  for (const part of (header ?? '').split(',', MOST_PARTS)) {
    if (part.startsWith('t=')) timestamp = part.slice(2);
    else if (part.startsWith('v1=')) signatures.push(part.slice(3));
  }
  return { timestamp, signatures };
}
