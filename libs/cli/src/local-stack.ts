import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CliError, EXIT } from './exit.ts';
import type { World } from './world.ts';

/** The files of the local stack that the command line reads (INTERFACES.md, "Local stack files"; deploy/local writes them). */
export function dataDirectory({ env, cwd }: Pick<World, 'env' | 'cwd'>): string {
  return resolve(cwd, env.ANGELIA_DATA || '.angelia');
}

/** The port that was picked for a program of the local stack; null when there is none. */
export function keptPort(dataDir: string, program: string): number | null {
  const path = join(dataDir, 'etc', 'ports.json');
  const text = readIfThere(path);
  if (text === null) return null;
  try {
    const port = (JSON.parse(text) as Readonly<Record<string, unknown>>)[program];
    return typeof port === 'number' ? port : null;
  } catch {
    throw new CliError(EXIT.config, `${path} is no JSON: is ${dataDir} the data directory of a local stack?`);
  }
}

/** DATABASE_URL, else the Postgres of the local stack. */
export function databaseUrl(world: World): string {
  const { DATABASE_URL: given } = world.env;
  if (given) return given;
  const dataDir = dataDirectory(world);
  const port = keptPort(dataDir, 'postgres');
  const password = readIfThere(join(dataDir, 'etc', 'postgres-password'))?.trim();
  if (port === null || !password) {
    throw new CliError(
      EXIT.config,
      `no database is known: DATABASE_URL is not set, and there is no local stack in ${dataDir}`,
      'set DATABASE_URL to the Postgres that holds the log, or ANGELIA_DATA to the data directory of the local stack',
    );
  }
  return `postgres://angelia:${password}@127.0.0.1:${port}/angelia`;
}

/** @throws CliError 78 for a file that is there and may not be read */
export function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new CliError(EXIT.config, `${path} cannot be read (${code})`);
  }
}
