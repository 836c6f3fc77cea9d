import { createSecretKey, hash, type KeyObject, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { AuthScheme } from '@angelia/contracts';
import type { OwnNames } from './provider-names.ts';
import { isPublicKey, type StandardKeys, standardKeysOf } from './standard-secret.ts';

/** One way in which a sender proves who it is. A new provider is a file beside this one and a line in registry.ts. */
export interface Scheme {
  /** As in a route's `auth`. */
  readonly name: AuthScheme;
  /** Whether the request carries this scheme's header. The first of the registry that says yes decides alone. */
  readonly claims: (headers: IncomingHttpHeaders) => boolean;
  verify(request: SignedRequest, secret: Secret): boolean;
  /** undefined: it is a scheme of many senders, each with names of its own. */
  readonly own?: OwnNames;
  /** Left out: the id of the delivery is signed, or nothing is. */
  readonly signed?: (request: SignedRequest) => SignedContent;
  /** What an operator should know of a route that uses it: logged once per route. */
  readonly weakness?: string;
  /** Whether it can check signatures by a public key (`whpk_`): there is no other use of one. */
  readonly takesPublicKeys?: true;
  /** Why a secret of the config can never fit, for a route that names this scheme. null: it can. */
  readonly refuses?: (secret: string) => string | null;
}

/**
 * What a signature proves. Who captured a request can send it again with another id in a header that nobody signed, or
 * with its fields in another order: it is still this.
 */
export interface SignedContent {
  readonly sha256: string;
  /**
   * The content holds a time, so that the sender's own repeat has another one and is known by its id: after these
   * seconds the signature is stale. null: the sender's own repeat has the same content, which alone names the delivery.
   */
  readonly staleAfterSeconds: number | null;
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
  /** The text of the config as bytes; of a public key (`whpk_`), which anybody may know, bytes that nobody knows. */
  readonly key: KeyObject;
  /** Of the same. */
  readonly sha256: Buffer;
  /** The keys that Standard Webhooks reads out of the same text. */
  readonly standard: StandardKeys;
}

/** As many as SHA-256 gives: not to be guessed. */
const UNKNOWN_BYTES = 32;

export function prepareSecret(secret: string): Secret {
  const shared = isPublicKey(secret) ? randomBytes(UNKNOWN_BYTES) : Buffer.from(secret, 'utf8');
  return {
    key: createSecretKey(shared),
    sha256: hash('sha256', shared, 'buffer'),
    standard: standardKeysOf(secret),
  };
}

export const claimsHeader =
  (name: string) =>
  (headers: IncomingHttpHeaders): boolean =>
    headers[name] !== undefined;

/**
 * Node joins repeated headers with a comma, except for some that it knows: of `authorization` and `content-type` the
 * first counts. Either way what is judged here is what the rest of the pipeline sees, and a joined value is valid only
 * if one of its parts is a signature by itself.
 */
export function headerOf(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  return typeof value === 'string' ? value : null;
}
