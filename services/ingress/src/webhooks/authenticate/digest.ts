import { createHash, createHmac, hash, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { Secret } from './scheme.ts';

const HEX = /^[0-9a-fA-F]+$/;
const BASE64_CHARACTERS = /^[A-Za-z0-9+/]+={0,2}$/;

/** HMAC-SHA256 over the parts, one after the other. */
export function hmacSha256(key: KeyObject, ...parts: readonly (string | Buffer)[]): Buffer {
  return hmacOf('sha256', key, parts);
}

export function hmacOf(
  algorithm: 'sha1' | 'sha256' | 'sha512',
  key: KeyObject,
  parts: readonly (string | Buffer)[],
): Buffer {
  const hmac = createHmac(algorithm, key);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

/** SHA-256 over the parts, as hex. */
export function sha256Hex(...parts: readonly (string | Buffer)[]): string {
  const digest = createHash('sha256');
  for (const part of parts) digest.update(part);
  return digest.digest('hex');
}

/** Compares a digest with the hex text of a header, in constant time. A malformed text is not equal. */
export function equalsHex(digest: Buffer, hex: string): boolean {
  return (
    hex.length === 2 * digest.length && HEX.test(hex) && timingSafeEqual(digest, Buffer.from(hex, 'hex'))
  );
}

/** Compares a digest with the base64 text of a header, in constant time. */
export function equalsBase64(digest: Buffer, base64: string): boolean {
  const given = bytesOfBase64(base64);
  return given !== null && given.length === digest.length && timingSafeEqual(digest, given);
}

/** Whether a text is the secret. Compares digests, so that not even the length can be measured. */
export function equalsText(text: string, secret: Secret): boolean {
  return timingSafeEqual(hash('sha256', text, 'buffer'), secret.sha256);
}

/** null for what is not base64: Buffer.from would skip it. */
export function bytesOfBase64(text: string): Buffer | null {
  return BASE64_CHARACTERS.test(text) ? Buffer.from(text, 'base64') : null;
}
