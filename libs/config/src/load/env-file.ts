import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { ConfigRefused } from '../startup-error.ts';
import { type ConfigFile, configPath, shownPath } from './config-file.ts';

const NAME = '.env';

/** `.env` beside the config file. Null for the built-in demo: there is no config file that it could belong to. */
export function envFilePath({ path, demo }: ConfigFile): string | null {
  return demo ? null : join(dirname(resolve(path)), NAME);
}

/** The variables in it. Empty if there is no such file. @throws ConfigRefused if it cannot be read */
export function readEnvFile(file: ConfigFile): Readonly<Record<string, string>> {
  const path = envFilePath(file);
  if (path === null) return {};
  try {
    return parseEnv(readFileSync(path, 'utf8')) as Record<string, string>;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // A virtual environment of Python is often a directory of this name.
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR') return {};
    const problem = { path: '', line: null, column: null, message: `cannot be read: ${message}` };
    throw new ConfigRefused(shownPath(path), [problem]);
  }
}

/** The environment with the variables of `.env` that it does not set. An empty variable counts as unset. */
export function withEnvFile(env: NodeJS.ProcessEnv, file: ConfigFile = configPath(env)): NodeJS.ProcessEnv {
  return withDefaults(env, readEnvFile(file));
}

export function withDefaults(
  env: NodeJS.ProcessEnv,
  defaults: Readonly<Record<string, string>>,
): NodeJS.ProcessEnv {
  const given = Object.entries(env).filter(([name, value]) => value || !(name in defaults));
  return { ...defaults, ...Object.fromEntries(given) };
}
