import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseDocument } from 'yaml';
import { StartupError } from '../startup-error.ts';

export const demoConfigPath = fileURLToPath(new URL('./demo.yaml', import.meta.url));
const DEFAULT_PATH = './angelia.yaml';

export function configPath(env: NodeJS.ProcessEnv): { path: string; demo: boolean } {
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
    throw new StartupError([`config file ${path}: ${reason}. Set ANGELIA_CONFIG to the path of the config`]);
  }
}

export function parseYaml(text: string, path: string): unknown {
  const document = parseDocument(text, { prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) {
    const line = text.slice(0, error.pos[0]).split('\n').length;
    throw new StartupError([`config file ${path}: line ${line}: ${error.message}`]);
  }
  // Anchors are allowed. The library's default limit on aliases (100) keeps a hostile file small.
  try {
    return document.toJS();
  } catch (cause) {
    const reason = `an alias (*name) is wrong: ${(cause as Error).message}`;
    throw new StartupError([`config file ${path}: ${reason}`], { cause });
  }
}
