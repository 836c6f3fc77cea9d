import { existsSync, readFileSync } from 'node:fs';
import { isAbsolute, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigRefused } from '../startup-error.ts';

export const demoConfigPath = fileURLToPath(new URL('./demo.yaml', import.meta.url));
const DEFAULT_PATH = './angelia.yaml';

export interface ConfigFile {
  readonly path: string;
  /** There is no config file: this is the built-in demo. */
  readonly demo: boolean;
}

export function configPath(env: NodeJS.ProcessEnv): ConfigFile {
  if (env.ANGELIA_CONFIG) return { path: env.ANGELIA_CONFIG, demo: false };
  return existsSync(DEFAULT_PATH)
    ? { path: DEFAULT_PATH, demo: false }
    : { path: demoConfigPath, demo: true };
}

export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const reason = missing ? 'there is no such file' : `cannot be read: ${(error as Error).message}`;
    const message = `${reason}. Set ANGELIA_CONFIG to the path of the config`;
    throw new ConfigRefused(shownPath(path), [{ path: '', line: null, column: null, message }]);
  }
}

/** As people name it: relative to where they are, if it is below. */
export function shownPath(path: string): string {
  const below = relative(process.cwd(), resolve(path));
  return below === '' || below.startsWith('..') || isAbsolute(below) ? resolve(path) : below;
}
