import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Environment } from '@angelia/config';
import { signedLinks } from '@angelia/service-kit';

/** Nobody can guess them. */
const SECRET_BYTES = 32;

/** The secret in a cookie, or the code in a link. */
export type SecretKind = 'session' | 'link';

/**
 * Makes and recognises the secrets of the console. Each is random and signed: `<random>.<mac>`. The signature shows without a
 * look into the database that a secret is none of ours, so a stranger with invented ones costs no query (invariant
 * strangers-cost-little), and a link that was used or is old is told from one that never was. The key comes from the
 * admin token: whoever changes a leaked token ends every session that was opened with it.
 */
export interface ConsoleSecrets {
  make(kind: SecretKind): string;
  isOurs(kind: SecretKind, secret: string): boolean;
}

export function consoleSecrets({
  adminToken,
  masterKey = '',
}: Pick<Environment, 'adminToken' | 'masterKey'>): ConsoleSecrets {
  if (adminToken === undefined) {
    return {
      make: () => {
        throw new Error('without ANGELIA_ADMIN_TOKEN nobody can ask for a secret of the console');
      },
      isOurs: () => false,
    };
  }
  // With the master key, a cookie does not help to find out a short admin token.
  const key = hash('sha256', JSON.stringify([adminToken, masterKey]), 'base64');
  const signed = { session: signedLinks(key, 'console-session'), link: signedLinks(key, 'console-link') };
  return {
    make: (kind) => signed[kind].token(randomBytes(SECRET_BYTES).toString('base64url')),
    isOurs: (kind, secret) => signed[kind].read(secret)?.length === 1,
  };
}

/** What the database keeps of a secret. */
export function digestOf(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

/** Follows from the cookie, so every replica knows it, also after a restart. The cookie does not follow from it. */
export function csrfTokenOf(session: string): string {
  return createHmac('sha256', session).update('csrf').digest('base64url');
}

export function isCsrfTokenOf(session: string, given: string): boolean {
  const right = Buffer.from(csrfTokenOf(session));
  const compared = Buffer.from(given);
  return compared.length === right.length && timingSafeEqual(compared, right);
}
