import { createSecretKey, hash, type KeyObject } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** One way in which a sender proves who it is. A new provider is a file beside this one and a line in registry.ts. */
export interface Scheme {
  /** As in a route's `auth`. */
  readonly name: string;
  /** Lower case. The first scheme of the registry whose header is there decides, whatever it then says. */
  readonly header: string;
  verify(request: SignedRequest, secret: Secret): boolean;
}

export interface SignedRequest {
  readonly headers: IncomingHttpHeaders;
  /** The bytes as they came: a signature is over these, never over parsed and printed JSON. */
  readonly body: Buffer;
  readonly nowMs: number;
}

/** Prepared when the route is defined, so that no request imports a key or hashes the secret again. */
export interface Secret {
  readonly key: KeyObject;
  readonly sha256: Buffer;
}

export function prepareSecret(secret: string): Secret {
  return { key: createSecretKey(secret, 'utf8'), sha256: hash('sha256', secret, 'buffer') };
}

/** A header that came once. Node joins repeated ones with a comma, which no signature survives. */
export function headerOf(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  return typeof value === 'string' ? value : null;
}
