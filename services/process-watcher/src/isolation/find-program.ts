import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where they are, also when PATH does not say so (a service manager's is short). */
const USUAL_PLACES = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];

/** Looks for a program in PATH and in the usual places; null: it is not there. */
export type FindProgram = (name: string) => string | null;

export function findProgramIn(path: string, usual: readonly string[] = USUAL_PLACES): FindProgram {
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
