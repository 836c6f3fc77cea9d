import { hash, timingSafeEqual } from 'node:crypto';
import { headerOf, type Scheme } from './scheme.ts';

const BEARER = /^bearer +([!-~]+)$/i;

/** `Authorization: Bearer <the secret>`. Digests are compared, so that not even the length can be measured. */
export const bearer: Scheme = {
  name: 'bearer',
  header: 'authorization',
  verify({ headers }, secret) {
    const token = bearerToken(headerOf(headers, 'authorization'));
    return token !== null && timingSafeEqual(hash('sha256', token, 'buffer'), secret.sha256);
  },
};

export function bearerToken(authorization: string | null): string | null {
  return authorization === null ? null : (BEARER.exec(authorization)?.[1] ?? null);
}
