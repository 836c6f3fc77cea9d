import type { Received } from './receive.ts';
import { Refusal } from './refusal.ts';
import { schemes } from './schemes/registry.ts';

/**
 * Step 2: is the sender who it must be, judged on the raw bytes, before anything about the body is told.
 * The answer is the same for every reason, so that a wrong guess teaches nothing.
 *
 * @throws Refusal 401
 */
export function authenticate(received: Received): void {
  const { access } = received.route;
  if (access.kind === 'open') return;
  const scheme = access.scheme ?? schemes.find(({ header }) => received.headers[header] !== undefined);
  let valid = false;
  if (scheme !== undefined) {
    // All secrets are tried, whichever fits: how long it takes does not tell which one it was.
    for (const secret of access.secrets) valid = scheme.verify(received, secret) || valid;
  }
  if (!valid) {
    throw new Refusal(401, 'unauthorized', 'the signature or token is missing or wrong for this route');
  }
}
