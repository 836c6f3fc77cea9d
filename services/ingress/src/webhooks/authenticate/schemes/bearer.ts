import { equalsText } from '../digest.ts';
import { headerOf, type Scheme } from '../scheme.ts';

const TOKEN = /^[!-~]+$/;
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
  secretProblem: (secret) =>
    TOKEN.test(secret)
      ? null
      : 'a bearer token can contain only visible ASCII characters and no spaces: choose another secret, for example with `openssl rand -hex 32`',
};

export function bearerToken(authorization: string | null): string | null {
  return authorization === null ? null : (BEARER.exec(authorization)?.[1] ?? null);
}
