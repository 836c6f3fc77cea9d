import { headerOf, type Scheme } from '../scheme.ts';
import { equalsText } from '../token.ts';

const TOKEN = /^[!-~]+$/;
const BEARER = /^bearer +([!-~]+)$/i;

/** `Authorization: Bearer <the secret>`. */
export const bearer: Scheme = {
  name: 'bearer',
  // Any `Authorization` that basic.ts did not claim.
  claims: (headers) => headers.authorization !== undefined,
  verify({ headers }, secret) {
    const token = bearerToken(headerOf(headers, 'authorization'));
    return token !== null && equalsText(token, secret);
  },
  refuses: (secret) =>
    TOKEN.test(secret)
      ? null
      : 'a bearer token can only have visible ASCII characters and no blanks: choose another secret, for example by `openssl rand -hex 32`',
};

export function bearerToken(authorization: string | null): string | null {
  return authorization === null ? null : (BEARER.exec(authorization)?.[1] ?? null);
}
