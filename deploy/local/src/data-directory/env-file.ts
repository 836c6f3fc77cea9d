import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { readIfThere } from './kept-file.ts';

/** The config file that the services will read; null for the built-in demo. */
export function configFileOf(env: NodeJS.ProcessEnv, cwd: string): string | null {
  if (env.ANGELIA_CONFIG) return resolve(cwd, env.ANGELIA_CONFIG);
  const beside = resolve(cwd, 'angelia.yaml');
  return existsSync(beside) ? beside : null;
}

/**
 * The environment with the variables of `.env` beside the config file that it does not set (libs/config does the same for
 * the services). For the launcher's own settings only: the services read the file themselves, so that a change of it
 * reaches them while they run.
 */
export function withEnvFile(env: NodeJS.ProcessEnv, cwd: string): NodeJS.ProcessEnv {
  const config = configFileOf(env, cwd);
  const text = config === null ? null : readFile(join(dirname(config), '.env'));
  if (text === null) return env;
  const given = Object.entries(env).filter(([, value]) => value);
  return { ...parseEnv(text), ...Object.fromEntries(given) };
}

/** A file that cannot be read is reported by the check of the config. */
function readFile(path: string): string | null {
  try {
    return readIfThere(path);
  } catch {
    return null;
  }
}
