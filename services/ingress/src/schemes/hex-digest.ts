import { timingSafeEqual } from 'node:crypto';

const SHA256_HEX = /^[0-9a-fA-F]{64}$/;

/** Compares a digest with the hex text of a header, in constant time. A malformed text is simply not equal. */
export function equalsHex(digest: Buffer, hex: string): boolean {
  return SHA256_HEX.test(hex) && timingSafeEqual(digest, Buffer.from(hex, 'hex'));
}
