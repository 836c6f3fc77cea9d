import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CliError, EXIT } from '../exit.ts';
import type { Runtime } from '../runtime.ts';

// The files of the local stack that the command line reads (INTERFACES.md, "Local stack files"). deploy/local writes them.

export function dataDirectory({ env, cwd }: Pick<Runtime, 'env' | 'cwd'>): string {
  return resolve(cwd, env.ANGELIA_DATA || '.angelia');
}

/** The ports that the local stack chose for its programs, by name. Empty when there is no stack. */
export function keptPorts(dataDir: string): Readonly<Record<string, number>> {
  const path = join(dataDir, 'etc', 'ports.json');
  const text = readIfThere(path);
  if (text === null) return {};
  try {
    const kept = JSON.parse(text) as Readonly<Record<string, unknown>>;
    return Object.fromEntries(
      Object.entries(kept).filter((entry): entry is [string, number] => Number.isInteger(entry[1])),
    );
  } catch {
    throw new CliError(
      EXIT.config,
      `${path} is not JSON: is ${dataDir} the data directory of a local stack?`,
    );
  }
}

/** The name of the local stack's Postgres user, of its database and of its NATS account. */
const LOGIN = 'angelia';

/** The URL of a program of the local stack, with its password. Null if it was never started. */
export function localUrl(dataDir: string, program: 'postgres' | 'nats'): string | null {
  const port = keptPorts(dataDir)[program];
  const password = readIfThere(join(dataDir, 'etc', `${program}-password`))?.trim();
  if (port === undefined || !password) return null;
  const path = program === 'postgres' ? `/${LOGIN}` : '';
  return `${program}://${LOGIN}:${encodeURIComponent(password)}@127.0.0.1:${port}${path}`;
}

/** DATABASE_URL, else the Postgres of the local stack. */
export function databaseUrl(runtime: Runtime): string {
  const { DATABASE_URL: given } = runtime.env;
  if (given) return given;
  const dataDir = dataDirectory(runtime);
  const kept = localUrl(dataDir, 'postgres');
  if (kept !== null) return kept;
  throw new CliError(
    EXIT.config,
    `no database: DATABASE_URL is not set, and there is no local stack in ${dataDir}`,
    'set DATABASE_URL to the Postgres that holds the log, or ANGELIA_DATA to the data directory of the local stack',
  );
}

/** Null if there is no such file. @throws CliError 78 for a file that exists and cannot be read */
export function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new CliError(EXIT.config, `${path} cannot be read (${code})`);
  }
}
