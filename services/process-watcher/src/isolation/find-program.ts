import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Searched after PATH, which is short under a service manager. */
const USUAL_DIRECTORIES = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];

/** Finds a program in PATH and in the usual directories; null if it is not there. */
export type FindProgram = (name: string) => string | null;

export function findProgramIn(path: string, usual: readonly string[] = USUAL_DIRECTORIES): FindProgram {
  const dirs = [...path.split(delimiter), ...usual].filter((dir) => dir.startsWith('/'));
  return (name) => dirs.map((dir) => join(dir, name)).find(isProgram) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
