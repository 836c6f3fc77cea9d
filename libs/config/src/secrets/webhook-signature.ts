import { Webhook } from 'standardwebhooks';

/**
 * Signs by Standard Webhooks. The specification writes a secret as `whsec_` and base64. A plain string works too: its bytes
 * are the key. A string without the prefix that happens to be base64 may be meant either way (the reference library
 * decodes it), so we send both signatures: the header is a list, and a receiver needs one of them.
 */
export type Signer = (id: string, timestamp: Date, body: string) => string;

const PREFIX = 'whsec_';

/** @throws if the secret cannot be used; the message says why and does not quote it */
export function signerOf(secret: string): Signer {
  const keys = keysOf(secret);
  return (id, timestamp, body) => keys.map((key) => key.sign(id, timestamp, body)).join(' ');
}

/** Why nothing can be signed with this secret; null if it can. Does not quote it. */
export function signingSecretProblem(secret: string): string | null {
  try {
    keysOf(secret);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function keysOf(secret: string): Webhook[] {
  if (secret.startsWith(PREFIX)) {
    const decoded = base64Key(secret.slice(PREFIX.length));
    if (!decoded) throw new Error('the part after whsec_ must be base64 and not empty');
    return [decoded];
  }
  if (secret === '') throw new Error('the secret is empty');
  const raw = new Webhook(Buffer.from(secret, 'utf8'), { format: 'raw' });
  const decoded = base64Key(secret);
  return decoded ? [decoded, raw] : [raw];
}

function base64Key(text: string): Webhook | null {
  try {
    return new Webhook(text);
  } catch {
    // The library throws if the text is not base64.
    return null;
  }
}
