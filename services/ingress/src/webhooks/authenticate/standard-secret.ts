import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto';

/**
 * A secret as Standard Webhooks and Svix write it: `whsec_` and base64 of the key, or `whpk_` and base64 of an ed25519
 * public key. Some providers send these headers with a plain text as the secret; then the key is its bytes or, as the
 * reference libraries read a secret without a prefix, what it stands for in base64. Both need knowledge of the same
 * secret, so that taking either gives nothing away.
 */
export interface StandardKeys {
  /** Of `v1`. */
  readonly symmetric: readonly KeyObject[];
  /** Of `v1a`. */
  readonly publicKey: KeyObject | null;
}

const SYMMETRIC = 'whsec_';
const PUBLIC = 'whpk_';
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;
/** The header that makes 32 bytes an ed25519 key in DER (RFC 8410). */
const ED25519_DER = Buffer.from('302a300506032b6570032100', 'hex');
const ED25519_BYTES = 32;

/** It proves nothing to know such a secret: it is for checking `v1a` signatures, and for nothing else. */
export function isPublicKey(secret: string): boolean {
  return secret.startsWith(PUBLIC);
}

export function standardKeysOf(secret: string): StandardKeys {
  if (isPublicKey(secret)) return { symmetric: [], publicKey: publicKeyOf(secret) };
  if (secret.startsWith(SYMMETRIC)) {
    const key = decode(secret.slice(SYMMETRIC.length));
    return { symmetric: key === null ? [] : [createSecretKey(key)], publicKey: null };
  }
  const decoded = decode(secret);
  return {
    symmetric: [createSecretKey(secret, 'utf8'), ...(decoded === null ? [] : [createSecretKey(decoded)])],
    publicKey: null,
  };
}

/** For a route that names the scheme: what it would otherwise only show by refusing every request. */
export function standardSecretProblem(secret: string): string | null {
  const { symmetric, publicKey } = standardKeysOf(secret);
  if (symmetric.length > 0 || publicKey !== null) return null;
  return isPublicKey(secret)
    ? '`whpk_` must be followed by the 32 bytes of an ed25519 public key in base64'
    : '`whsec_` must be followed by base64: copy the secret from the provider once more';
}

function publicKeyOf(secret: string): KeyObject | null {
  const bytes = decode(secret.slice(PUBLIC.length));
  if (bytes?.length !== ED25519_BYTES) return null;
  return createPublicKey({ key: Buffer.concat([ED25519_DER, bytes]), format: 'der', type: 'spki' });
}

/** null for what is not base64, and for nothing: an empty key would be everybody's. */
function decode(text: string): Buffer | null {
  if (text === '' || !BASE64.test(text)) return null;
  return Buffer.from(text, 'base64');
}
