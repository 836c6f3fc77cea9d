import { hash, randomBytes } from 'node:crypto';

/** No letter that reads like a digit. 32 of them, so that a byte chooses evenly. */
const LETTERS = 'ABCDEFGHJKMNPQRSTVWXYZ0123456789';
/** 60 bits. A code lasts for ten minutes, and wrong ones are slowed down. */
const LENGTH = 12;
const PART = 4;

/** `K7QW-M3TX-09AB` */
export function newPairingCode(): string {
  const letters = [...randomBytes(LENGTH)].map((byte) => LETTERS[byte % LETTERS.length]).join('');
  return letters.match(new RegExp(`.{${PART}}`, 'g'))?.join('-') ?? letters;
}

/** As somebody typed it: dashes, blanks and small letters do not matter. */
export function pairingCodeHash(code: string): string {
  return hash('sha256', code.toUpperCase().replace(/[\s-]/g, ''));
}

/** Whether a text can be a code at all. */
export function looksLikeCode(text: string): boolean {
  return /^[A-Za-z0-9](?:[\s-]?[A-Za-z0-9]){11}$/.test(text.trim());
}
