import { createSecretKey, hash, type KeyObject, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { ed25519KeyOfHex, isPublicKey, type StandardKeys, standardKeysOf } from '@angelia/config';
import type { AuthScheme, TokenAuth } from '@angelia/contracts';
import type { ProviderNames } from './provider-names.ts';

/** One way for a sender to prove its identity. To add a provider, add a file in schemes/ and a line in scheme-registry.ts. */
export interface Scheme {
  /** As in a route's `auth`, or in its `scheme`. */
  readonly name: AuthScheme | TokenAuth['scheme'];
  /** The header with the proof, as people write it. */
  readonly header: string;
  /** Whether the request carries this scheme's header. The first scheme of the registry that says yes decides alone. */
  readonly claims: (headers: IncomingHttpHeaders) => boolean;
  /** Only for routes that name it in `auth`. */
  readonly namedOnly?: true;
  verify(request: SignedRequest, secret: Secret): boolean;
  /**
   * For the operator, after `verify` refused the request with every secret: what is wrong besides the secret, such as a
   * missing header or a stale time. null: nothing, so no secret matched. It contains no value of a signature or token.
   */
  readonly problem?: (request: SignedRequest, secrets: readonly Secret[]) => string | null;
  /** undefined: senders of many kinds use this scheme, each with its own names. */
  readonly provider?: ProviderNames;
  /** Left out, or null, if the delivery's id is signed, or if nothing is. */
  readonly signed?: (request: SignedRequest) => SignedContent | null;
  /** What an operator should know about a route that uses this scheme. Logged once per route. */
  readonly weakness?: string;
  /** The header whose value is the secret itself. Templates cannot read it. */
  readonly tokenHeader?: string;
  /** The answer to a question of the provider whether its receiver is there; null: it is none. */
  readonly handshake?: (payload: unknown) => Handshake | null;
}

export interface Handshake {
  readonly status: 200 | 204;
  readonly body: Readonly<Record<string, string | number>>;
}

/**
 * What a signature proves. Somebody who captured a request can send it again with another id in an unsigned header, or
 * with its fields in another order; the signed content stays the same.
 */
export interface SignedContent {
  readonly sha256: string;
  /**
   * The content holds a time, so the sender's own repeat differs and is recognised by its id. After these seconds the
   * signature is stale. null: the sender's own repeat has the same content, and the content alone names the delivery.
   */
  readonly staleAfterSeconds: number | null;
}

export interface SignedRequest {
  readonly headers: IncomingHttpHeaders;
  /** The bytes as received. A signature covers these, never JSON that was parsed and printed again. */
  readonly body: Buffer;
  readonly nowMs: number;
  /** The address that the sender called, built from `public_url` of the config; null if that is not set. */
  readonly publicUrl: string | null;
}

/** Prepared when the route is defined, so that no request imports a key or hashes the secret again. */
export interface Secret {
  /** The bytes of the config's text. For a public key (`whpk_`), which anybody may know: random bytes. */
  readonly key: KeyObject;
  /** SHA-256 of the same bytes. */
  readonly sha256: Buffer;
  /** The keys that Standard Webhooks reads from the same text. */
  readonly standard: StandardKeys;
  /** The public key of a Discord application that the same text spells in hex; null: it spells none. */
  readonly ed25519: KeyObject | null;
}

/** As many as SHA-256 has: nobody can guess them. */
const UNKNOWN_BYTES = 32;

export function prepareSecret(secret: string): Secret {
  const shared = isPublicKey(secret) ? randomBytes(UNKNOWN_BYTES) : Buffer.from(secret, 'utf8');
  return {
    key: createSecretKey(shared),
    sha256: hash('sha256', shared, 'buffer'),
    standard: standardKeysOf(secret),
    ed25519: ed25519KeyOfHex(secret),
  };
}

export const claimsHeader =
  (name: string) =>
  (headers: IncomingHttpHeaders): boolean =>
    headers[name] !== undefined;

/**
 * Node joins repeated headers with a comma, except for some: of `authorization` and `content-type` the first counts. In
 * both cases this is the value that the later steps see. A joined value is valid only if one of its parts alone is a
 * valid signature.
 */
export function headerOf(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  return typeof value === 'string' ? value : null;
}
