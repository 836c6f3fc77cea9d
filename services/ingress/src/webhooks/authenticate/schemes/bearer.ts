import { equalsText } from '../digest.ts';
import { headerOf, type Scheme } from '../scheme.ts';

const BEARER = /^bearer +([!-~]+)$/i;

/** `Authorization: Bearer <the secret>`. */
export const bearer: Scheme = {
  name: 'bearer',
  header: 'Authorization: Bearer',
  // Any `Authorization` that basic.ts does not claim.
  claims: (headers) => headers.authorization !== undefined,
  verify({ headers }, secret) {
    const token = bearerToken(headerOf(headers, 'authorization'));
    return token !== null && equalsText(token, secret);
  },
};

export function bearerToken(authorization: string | null): string | null {
  return authorization === null ? null : (BEARER.exec(authorization)?.[1] ?? null);
}
