import type { IncomingHttpHeaders } from 'node:http';
import { isSecretKey } from '@angelia/contracts';

/** Upper and lower case do not matter. undefined: the request does not have it, or nobody may see it. */
export type HeaderReader = (name: string) => string | undefined;

/**
 * For templates. What they read is shown to models and people, so tokens, cookies and signatures stay out.
 * @param tokenHeader the header of the route's own scheme whose value is the secret
 */
export function headerReader(headers: IncomingHttpHeaders, tokenHeader: string | undefined): HeaderReader {
  return (given) => {
    const name = given.toLowerCase();
    if (isSecretKey(name) || name === tokenHeader) return undefined;
    const value = headers[name];
    return typeof value === 'string' ? value : undefined;
  };
}
