import { verify as verifySignature } from 'node:crypto';
import { nameAt } from '../../payload/lookup.ts';
import { bytesOfBase64, equalsBase64, hmacSha256 } from '../digest.ts';
import { idInHeaders } from '../provider-names.ts';
import { isFresh, timestampProblem } from '../replay-window.ts';
import { claimsHeader, headerOf, type Scheme, type Secret, type SignedRequest } from '../scheme.ts';

/**
 * Standard Webhooks (standardwebhooks.com), Svix under its older header names, and GitLab's signing token.
 * `<prefix>-signature` holds signatures of `<id>.<timestamp>.<body>`, separated by spaces: `v1,<base64 HMAC-SHA256>` or
 * `v1a,<base64 ed25519>`. One that matches is enough; unknown versions are skipped.
 *
 * Only the tests use the reference library. It reads the body as text before it signs, so different invalid bytes get
 * the same signature; it hashes in JavaScript (18 ms for 1 MB, against 1.4); and it has no `v1a`.
 */
function scheme(name: 'standard-webhooks' | 'svix', prefix: 'webhook' | 'svix'): Scheme {
  return {
    name,
    header: `${prefix}-signature`,
    // Only by the signature: GitLab also sends webhook-id and webhook-timestamp with deliveries that it does not sign.
    claims: claimsHeader(`${prefix}-signature`),
    verify: (request, secret) => verifyStandard(prefix, request, secret),
    problem: (request) => standardProblem(prefix, request),
    provider: {
      id: idInHeaders(`${prefix}-id`),
      idIsSigned: true,
      // The place that the specification names. Senders that do not use it (GitLab) have a header.
      event: ({ payload }) => nameAt(payload, 'type'),
    },
  };
}

export const standardWebhooks = scheme('standard-webhooks', 'webhook');
export const svix = scheme('svix', 'svix');

/** More than any rotation needs. Each costs one comparison or, for `v1a`, one verification (0.1 ms). */
const MOST_SIGNATURES = 8;

export function verifyStandard(
  prefix: 'webhook' | 'svix',
  { headers, body, nowMs }: SignedRequest,
  { standard }: Secret,
): boolean {
  const id = headerOf(headers, `${prefix}-id`);
  const timestamp = headerOf(headers, `${prefix}-timestamp`);
  const signatures = headerOf(headers, `${prefix}-signature`);
  if (id === null || id === '' || signatures === null || !isFresh(timestamp, nowMs)) return false;
  const signed = `${id}.${timestamp}.`;
  const digests = standard.symmetric.map((key) => hmacSha256(key, signed, body));
  let valid = false;
  for (const entry of signatures.split(' ', MOST_SIGNATURES)) {
    const comma = entry.indexOf(',');
    const signature = entry.slice(comma + 1);
    switch (comma < 0 ? '' : entry.slice(0, comma)) {
      case 'v1':
        for (const digest of digests) valid = equalsBase64(digest, signature) || valid;
        break;
      case 'v1a': {
        const bytes = bytesOfBase64(signature);
        if (standard.publicKey === null || bytes === null) break;
        valid =
          verifySignature(null, Buffer.concat([Buffer.from(signed), body]), standard.publicKey, bytes) ||
          valid;
        break;
      }
    }
  }
  return valid;
}

export function standardProblem(
  prefix: 'webhook' | 'svix',
  { headers, nowMs }: Pick<SignedRequest, 'headers' | 'nowMs'>,
): string | null {
  if (!headerOf(headers, `${prefix}-id`)) return `the header ${prefix}-id is missing`;
  return timestampProblem(`${prefix}-timestamp`, headerOf(headers, `${prefix}-timestamp`), nowMs);
}
