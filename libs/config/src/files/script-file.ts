import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { realPathInside } from './path-inside.ts';

/** Enough for the `#!` line or the header of a program. */
const HEAD_BYTES = 256;

/** A route's `script`: an executable file inside `directories.scripts`, by its real path. */
export function findScript(
  directory: string,
  script: string,
): { readonly path: string } | { readonly reason: string } {
  const found = realPathInside(directory, script);
  if ('reason' in found) return found;
  try {
    if (!statSync(found.path).isFile()) return { reason: `${script} is not a file` };
    accessSync(found.path, constants.X_OK);
    // Without this line execvp would hand the text to a shell, and scripts run without one.
    if (isTextWithoutInterpreter(found.path)) {
      return { reason: `${script} does not start with a #! line, such as #!/usr/bin/env python3` };
    }
  } catch (error) {
    const denied = (error as NodeJS.ErrnoException).code === 'EACCES';
    return {
      reason: denied
        ? `${script} is not executable and readable: chmod +rx ${found.path}`
        : `${script} cannot be used: ${(error as Error).message}`,
    };
  }
  return found;
}

function isTextWithoutInterpreter(path: string): boolean {
  const file = openSync(path, 'r');
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    const bytes = head.subarray(0, readSync(file, head, 0, HEAD_BYTES, 0));
    return !bytes.subarray(0, 2).equals(Buffer.from('#!')) && !bytes.includes(0);
  } finally {
    closeSync(file);
  }
}
