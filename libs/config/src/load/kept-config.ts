import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DEFAULT_DATA, type ServiceName } from '../environment.ts';
import type { ConfigFile } from './config-file.ts';

/**
 * The last good config (invariant last-good-config): each service keeps a copy of the file that it works with, and starts
 * with it if the file is wrong. One copy per service, because each accepts a config by itself: ingress may refuse what
 * delivery takes. Replicas share it, as they accept the same. Variables stay names in it.
 */
const DIRECTORY = 'last-good';
/** A config can hold literal secrets. */
const PRIVATE_FILE = 0o600;
const PRIVATE_DIRECTORY = 0o700;

export function keptPath(service: ServiceName, env: NodeJS.ProcessEnv): string {
  return join(resolve(env.ANGELIA_DATA || DEFAULT_DATA), DIRECTORY, `${service}.yaml`);
}

/** The copy of this file. Null if there is none: a copy of another file is no replacement for this one. */
export function keptText(service: ServiceName, file: ConfigFile, env: NodeJS.ProcessEnv): string | null {
  let text: string;
  try {
    text = readFileSync(keptPath(service, env), 'utf8');
  } catch {
    return null; // There is none, or none that we can read: either way nothing to start with.
  }
  const head = headOf(file);
  return text.startsWith(head) ? text.slice(head.length) : null;
}

/** Replaces the copy in one step. Throws if the directory cannot be written. */
export function keepText(service: ServiceName, file: ConfigFile, text: string, env: NodeJS.ProcessEnv): void {
  if (keptText(service, file, env) === text) return;
  const path = keptPath(service, env);
  mkdirSync(dirname(path), { recursive: true, mode: PRIVATE_DIRECTORY });
  const beside = `${path}.${process.pid}-${randomBytes(4).toString('hex')}`;
  try {
    writeFileSync(beside, headOf(file) + text, { mode: PRIVATE_FILE, flush: true });
    renameSync(beside, path);
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  }
}

function headOf({ path }: ConfigFile): string {
  return `# The last good copy of ${JSON.stringify(resolve(path))}, which Angelia uses while that file is wrong.\n`;
}
