import { Refusal } from '../../http/refusal.ts';
import type { Received } from '../receive/receive.ts';
import type { Scheme } from './scheme.ts';
import { schemes } from './schemes/registry.ts';

/**
 * Step 2: is the sender who it must be, judged on the raw bytes, before anything about the body is told.
 * The answer is the same for every reason, so that a wrong guess teaches nothing.
 *
 * @returns the scheme by which it was, null for a route that asks for none
 * @throws Refusal 401
 */
export function authenticate(received: Received): Scheme | null {
  const { access } = received.route;
  if (access.kind === 'open') return null;
  const scheme = access.scheme ?? schemes.find(({ claims }) => claims(received.headers));
  let valid = false;
  if (scheme !== undefined) {
    // All secrets are tried, whichever fits: how long it takes does not tell which one it was.
    for (const secret of access.secrets) valid = scheme.verify(received, secret) || valid;
  }
  if (scheme === undefined || !valid) {
    throw new Refusal(401, 'unauthorized', 'the signature or token is missing or wrong for this route');
  }
  return scheme;
}
