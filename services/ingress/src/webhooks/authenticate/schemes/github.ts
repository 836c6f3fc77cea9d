import { equalsHex, hmacSha256 } from '../digest.ts';
import { eventInHeader, idInHeaders } from '../provider-names.ts';
import { claimsHeader, headerOf, type Scheme } from '../scheme.ts';

const HEADER = 'x-hub-signature-256';
const PREFIX = 'sha256=';

/** GitHub: `X-Hub-Signature-256: sha256=<hex HMAC-SHA256 of the body>`. */
export const github: Scheme = {
  name: 'github',
  header: 'X-Hub-Signature-256',
  claims: claimsHeader(HEADER),
  verify({ headers, body }, secret) {
    const signature = headerOf(headers, HEADER);
    if (signature === null || !signature.startsWith(PREFIX)) return false;
    return equalsHex(hmacSha256(secret.key, body), signature.slice(PREFIX.length));
  },
  problem: ({ headers }) =>
    headerOf(headers, HEADER)?.startsWith(PREFIX) === true
      ? null
      : 'X-Hub-Signature-256 does not begin with `sha256=`',
  // GitHub does not sign these, but has no others.
  provider: { id: idInHeaders('x-github-delivery'), event: eventInHeader('x-github-event') },
};
