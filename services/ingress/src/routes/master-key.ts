import { createCipheriv, createDecipheriv, createHmac, createSecretKey, randomBytes } from 'node:crypto';
import { routeStreamId, type Sealed } from '@angelia/contracts';

const ALGORITHM = 'aes-256-gcm';
/** The size that GCM is defined for. New for every sealing: a nonce that is used twice reveals both texts. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export type Opened =
  | { readonly ok: true; readonly secrets: readonly string[] }
  | { readonly ok: false; readonly problem: string };

/** Seals the secrets of routes made by API. A sealed secret is bound to its route and works for no other. */
export interface MasterKey {
  /** Names the key without revealing it, so that a stored secret says which key it needs. */
  readonly id: string;
  seal(route: string, secrets: readonly string[]): Sealed;
  open(route: string, sealed: Sealed): Opened;
}

/** @param base64 ANGELIA_MASTER_KEY: 32 bytes; the check of the environment guarantees that */
export function masterKeyOf(base64: string): MasterKey {
  const bytes = Buffer.from(base64, 'base64');
  const key = createSecretKey(bytes);
  const id = createHmac('sha256', bytes).update('angelia master key id').digest('hex').slice(0, 16);
  return {
    id,
    seal: (route, secrets) => {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(boundTo(route));
      const text = cipher.update(JSON.stringify(secrets), 'utf8');
      const ciphertext = Buffer.concat([text, cipher.final(), cipher.getAuthTag()]);
      return {
        algorithm: ALGORITHM,
        key: id,
        nonce: nonce.toString('base64'),
        ciphertext: ciphertext.toString('base64'),
      };
    },
    open: (route, sealed) => {
      if (sealed.key !== id) {
        return {
          ok: false,
          problem:
            `its secret was sealed with another master key (${sealed.key}; this one is ${id}): ` +
            'give ingress the old ANGELIA_MASTER_KEY, or PUT the route with a new `secret`',
        };
      }
      try {
        const bytes = Buffer.from(sealed.ciphertext, 'base64');
        const nonce = Buffer.from(sealed.nonce, 'base64');
        const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
        decipher.setAAD(boundTo(route));
        decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
        const text = Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]);
        return { ok: true, secrets: JSON.parse(text.toString('utf8')) as string[] };
      } catch {
        // GCM does not say which part is wrong.
        return {
          ok: false,
          problem:
            'its stored secret is damaged, or was copied from another route: PUT the route with a new `secret`',
        };
      }
    },
  };
}

function boundTo(route: string): Buffer {
  return Buffer.from(routeStreamId(route));
}

export const NO_MASTER_KEY =
  'ANGELIA_MASTER_KEY is not set, and no secret can be stored without it: set it to 32 bytes in base64 ' +
  '(`openssl rand -base64 32`), the same for every ingress, and restart';
