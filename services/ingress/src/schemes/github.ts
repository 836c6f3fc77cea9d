import { createHmac } from 'node:crypto';
import { equalsHex } from './hex-digest.ts';
import { headerOf, type Scheme } from './scheme.ts';

const PREFIX = 'sha256=';

/** GitHub: `X-Hub-Signature-256: sha256=<hex HMAC-SHA256 of the body>`. */
export const github: Scheme = {
  name: 'github',
  header: 'x-hub-signature-256',
  verify({ headers, body }, secret) {
    const signature = headerOf(headers, 'x-hub-signature-256');
    if (signature === null || !signature.startsWith(PREFIX)) return false;
    return equalsHex(createHmac('sha256', secret.key).update(body).digest(), signature.slice(PREFIX.length));
  },
};
