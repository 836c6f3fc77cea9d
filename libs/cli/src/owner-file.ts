import { chmodSync, writeFileSync } from 'node:fs';
import { CliError, EXIT } from './exit.ts';

const OWNER_ONLY = 0o600;

/** Readable for the owner only, also if the file exists: it holds secrets, or commands must not read it. @throws CliError 1 */
export function writeForOwner(path: string, text: string): void {
  try {
    writeFileSync(path, text, { mode: OWNER_ONLY });
    // `mode` does not change a file that exists.
    chmodSync(path, OWNER_ONLY);
  } catch (error) {
    throw new CliError(EXIT.failed, `${path} cannot be written (${(error as NodeJS.ErrnoException).code})`);
  }
}
