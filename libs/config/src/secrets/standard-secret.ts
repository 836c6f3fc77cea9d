import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto';

/**
 * A secret in the form of Standard Webhooks and Svix: `whsec_` and base64 of the key, or `whpk_` and base64 of an ed25519
 * public key. Some providers send these headers with a plain text as the secret. Then the key is either the bytes of the
 * text or, as in the reference libraries, the text decoded from base64. Both require knowledge of the same secret, so
 * accepting either is safe.
 */
export interface StandardKeys {
  /** For `v1`. */
  readonly symmetric: readonly KeyObject[];
  /** For `v1a`. */
  readonly publicKey: KeyObject | null;
}

const SYMMETRIC = 'whsec_';
const PUBLIC = 'whpk_';
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;
/** The header that makes 32 bytes an ed25519 key in DER (RFC 8410). */
const ED25519_DER = Buffer.from('302a300506032b6570032100', 'hex');
const ED25519_BYTES = 32;

/** Knowing such a key proves nothing: it can only check `v1a` signatures. */
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

function publicKeyOf(secret: string): KeyObject | null {
  const bytes = decode(secret.slice(PUBLIC.length));
  return bytes?.length === ED25519_BYTES ? ed25519Key(bytes) : null;
}

const ED25519_HEX = /^[0-9a-f]{64}$/i;

export function ed25519KeyOfHex(text: string): KeyObject | null {
  return ED25519_HEX.test(text) ? ed25519Key(Buffer.from(text, 'hex')) : null;
}

function ed25519Key(bytes: Buffer): KeyObject {
  return createPublicKey({ key: Buffer.concat([ED25519_DER, bytes]), format: 'der', type: 'spki' });
}

/** null for what is not base64, and for an empty text: everybody knows an empty key. */
function decode(text: string): Buffer | null {
  if (text === '' || !BASE64.test(text)) return null;
  return Buffer.from(text, 'base64');
}
