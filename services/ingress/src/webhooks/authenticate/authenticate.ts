import { Refusal } from '../../http/refusal.ts';
import type { Received } from '../receive/receive.ts';
import type { Scheme } from './scheme.ts';
import { schemes } from './scheme-registry.ts';
import { whyRefused } from './why-refused.ts';

/**
 * Step 2: proves the identity of the sender on the raw bytes, before the answer reveals anything about the body.
 * The refusal is the same for every reason, so a wrong guess teaches nothing. Only the operator learns the reason.
 *
 * @returns the scheme that authenticated the sender; null for a route that needs none
 * @throws Refusal 401
 */
export function authenticate(received: Received): Scheme | null {
  const { access } = received.route;
  if (access.kind === 'open') return null;
  const scheme =
    access.scheme ?? schemes.find(({ claims, namedOnly }) => namedOnly !== true && claims(received.headers));
  let valid = false;
  if (scheme !== undefined) {
    // Tries every secret even after a match, so that the time does not reveal which one matched.
    for (const secret of access.secrets) valid = scheme.verify(received, secret) || valid;
  }
  if (scheme === undefined || !valid) {
    throw new Refusal(
      401,
      'unauthorized',
      'the signature or token is missing or wrong for this route',
      null,
      whyRefused(received, access, scheme),
    );
  }
  return scheme;
}
