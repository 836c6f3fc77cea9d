import { Webhook } from 'standardwebhooks';

/**
 * Signatures by Standard Webhooks. A secret is best written as the specification has it, `whsec_` and base64. A plain
 * string works too: its bytes are the key. A string without the prefix that happens to be base64 could be meant either
 * way (the reference library decodes it), so both signatures are sent; the header is a list, and a receiver needs one.
 */
export type Signer = (id: string, timestamp: Date, body: string) => string;

const PREFIX = 'whsec_';

/** Throws when the secret cannot be used: the message says why and does not repeat it. */
export function signerOf(secret: string): Signer {
  const keys = keysOf(secret);
  return (id, timestamp, body) => keys.map((key) => key.sign(id, timestamp, body)).join(' ');
}

function keysOf(secret: string): Webhook[] {
  if (secret.startsWith(PREFIX)) {
    const decoded = base64Key(secret.slice(PREFIX.length));
    if (!decoded) throw new Error('the part after whsec_ must be base64 and not empty');
    return [decoded];
  }
  if (secret === '') throw new Error('it must not be empty');
  const raw = new Webhook(Buffer.from(secret, 'utf8'), { format: 'raw' });
  const decoded = base64Key(secret);
  return decoded ? [decoded, raw] : [raw];
}

function base64Key(text: string): Webhook | null {
  try {
    return new Webhook(text);
  } catch {
    // Not base64: the library says so by throwing.
    return null;
  }
}
