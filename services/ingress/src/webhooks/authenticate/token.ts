import { hash, timingSafeEqual } from 'node:crypto';
import type { Secret } from './scheme.ts';

/** Whether a text is the secret. Digests are compared, so that not even the length can be measured. */
export function equalsText(text: string, secret: Secret): boolean {
  return timingSafeEqual(hash('sha256', text, 'buffer'), secret.sha256);
}
