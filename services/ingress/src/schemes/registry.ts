import { bearer } from './bearer.ts';
import { github } from './github.ts';
import type { Scheme } from './scheme.ts';
import { timestampedHmac } from './timestamped-hmac.ts';

/**
 * In the order in which headers are looked for. Signatures come before `Authorization`, which a proxy or a sender
 * may add for reasons of its own. There is no fall-through: a request with a stale timestamp must not be taken by
 * a weaker scheme whose header it also carries.
 */
export const schemes: readonly Scheme[] = [github, timestampedHmac, bearer];

export function schemeNamed(name: string): Scheme | null {
  return schemes.find((scheme) => scheme.name === name) ?? null;
}
