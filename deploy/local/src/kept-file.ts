import { randomBytes } from 'node:crypto';
import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/** Readable by the owner alone: passwords, keys and tokens. */
const PRIVATE = 0o600;

/** Replaces the file as a whole: a reader, or a start after a crash, sees the old content or the new, never half. */
export function writeWhole(path: string, content: string, mode = 0o644): void {
  const beside = `${path}.tmp-${process.pid}-${randomBytes(4).toString('hex')}`;
  writeFileSync(beside, content, { mode });
  renameSync(beside, path);
}

export function writePrivate(path: string, content: string): void {
  writeWhole(path, content, PRIVATE);
}

export function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** A secret that is made at the first start and kept, so that data written under it stays readable. */
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

/** Letters and digits only, so that it needs no escaping in a URL, a config file or SQL. */
export function makePassword(): string {
  return randomBytes(24).toString('hex');
}

/** Not by `instanceof Error`: under Jest, Node's own errors are of another realm. */
export function isMissing(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT';
}
