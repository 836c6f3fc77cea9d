import { createSecretKey, hash, type KeyObject } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { AuthScheme } from '@angelia/contracts';
import { type StandardKeys, standardKeysOf } from './standard-secret.ts';

/** One way in which a sender proves who it is. A new provider is a file beside this one and a line in registry.ts. */
export interface Scheme {
  /** As in a route's `auth`. */
  readonly name: AuthScheme;
  /** Whether the request carries this scheme's header. The first of the registry that says yes decides alone. */
  readonly claims: (headers: IncomingHttpHeaders) => boolean;
  verify(request: SignedRequest, secret: Secret): boolean;
  /** What an operator should know of a route that uses it: logged once per route. */
  readonly weakness?: string;
  /** Why a secret of the config can never fit, for a route that names this scheme. null: it can. */
  readonly refuses?: (secret: string) => string | null;
}

export interface SignedRequest {
  readonly headers: IncomingHttpHeaders;
  /** The bytes as they came: a signature is over these, never over parsed and printed JSON. */
  readonly body: Buffer;
  readonly nowMs: number;
  /** The address that the sender called, by `public_url` of the config; null when it does not say. */
  readonly publicUrl: string | null;
}

/** Prepared when the route is defined, so that no request imports a key or hashes the secret again. */
export interface Secret {
  /** The text of the config as bytes. */
  readonly key: KeyObject;
  readonly sha256: Buffer;
  /** The keys that Standard Webhooks reads out of the same text. */
  readonly standard: StandardKeys;
}

export function prepareSecret(secret: string): Secret {
  return {
    key: createSecretKey(secret, 'utf8'),
    sha256: hash('sha256', secret, 'buffer'),
    standard: standardKeysOf(secret),
  };
}

export const claimsHeader =
  (name: string) =>
  (headers: IncomingHttpHeaders): boolean =>
    headers[name] !== undefined;

/** A header that came once. Node joins repeated ones with a comma, which no signature survives. */
export function headerOf(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  return typeof value === 'string' ? value : null;
}
