import { fstatSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CliError, EXIT } from '../exit.ts';
import type { World } from '../world.ts';

/** A file by its name, or stdin for `-`. @throws CliError 2 */
export async function readInput(world: World, file: string): Promise<string> {
  if (file === '-') return readStdin(world);
  try {
    return readFileSync(resolve(world.cwd, file), 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CliError(
      EXIT.usage,
      `${file} ${code === 'ENOENT' ? 'is not there' : `cannot be read (${code})`}`,
    );
  }
}

export async function readStdin({ stdin, signal }: World): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stdin) {
    signal.throwIfAborted();
    parts.push(Buffer.from(part as Buffer));
  }
  return Buffer.concat(parts).toString('utf8');
}

/** Whether something was piped or redirected into this command: not a terminal, and not /dev/null or what cron gives. */
export function isPiped({ stdin }: World): boolean {
  if (stdin.isTTY === true) return false;
  const { fd } = stdin as { fd?: number };
  if (fd === undefined) return true;
  try {
    const stat = fstatSync(fd);
    return stat.isFIFO() || stat.isFile();
  } catch {
    return false; // it is closed
  }
}
