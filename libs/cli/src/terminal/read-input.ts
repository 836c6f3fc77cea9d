import { fstatSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CliError, EXIT } from '../exit.ts';
import type { Runtime } from '../runtime.ts';

/** The text of a file, or of stdin for `-`. @throws CliError 2 */
export async function readInput(runtime: Runtime, file: string): Promise<string> {
  if (file === '-') return readStdin(runtime);
  try {
    return readFileSync(resolve(runtime.cwd, file), 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CliError(
      EXIT.usage,
      `${file} ${code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`}`,
    );
  }
}

export async function readStdin({ stdin, signal }: Runtime): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stdin) {
    signal.throwIfAborted();
    parts.push(Buffer.from(part as Buffer));
  }
  return Buffer.concat(parts).toString('utf8');
}

/** Whether text was piped or redirected into this command: stdin is not a terminal, not /dev/null, and not what cron gives. */
export function isPiped({ stdin }: Runtime): boolean {
  if (stdin.isTTY === true) return false;
  const { fd } = stdin as { fd?: number };
  if (fd === undefined) return true;
  try {
    const stat = fstatSync(fd);
    return stat.isFIFO() || stat.isFile();
  } catch {
    return false; // stdin is closed
  }
}
