import { randomBytes } from 'node:crypto';
import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/** Only the owner may read it: for passwords, keys and tokens. */
const PRIVATE = 0o600;

/** Replaces the file in one step: a reader, or a start after a crash, sees the old content or the new, never half. */
export function writeFileWhole(path: string, content: string, mode = 0o644): void {
  const beside = `${path}.tmp-${process.pid}-${randomBytes(4).toString('hex')}`;
  writeFileSync(beside, content, { mode });
  renameSync(beside, path);
}

export function writePrivate(path: string, content: string): void {
  writeFileWhole(path, content, PRIVATE);
}

export function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** Reads a secret, or makes it at the first start. It is kept, so that data encrypted with it stays readable. */
export function keptSecret(path: string, make: () => string): string {
  const kept = readIfThere(path)?.trim();
  if (kept) {
    chmodSync(path, PRIVATE);
    return kept;
  }
  const made = make();
  writePrivate(path, `${made}\n`);
  return made;
}

/** Only letters and digits, so that it needs no escaping in a URL, a config file or SQL. */
export function makePassword(): string {
  return randomBytes(24).toString('hex');
}

/** Does not use `instanceof Error`: under Jest, Node's own errors come from another realm. */
export function isMissing(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT';
}
