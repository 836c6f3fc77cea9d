import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Runtime } from '../runtime.ts';
import { dataDirectory, readIfThere } from './files.ts';

/**
 * The environment as the local stack's services see it, for reading the config file: the file by its whole path, and the
 * secret of the demo route, which the launcher made.
 */
export function configEnvironment(runtime: Runtime): Record<string, string | undefined> {
  const { env, cwd } = runtime;
  const beside = resolve(cwd, 'angelia.yaml');
  const config = env.ANGELIA_CONFIG
    ? resolve(cwd, env.ANGELIA_CONFIG)
    : existsSync(beside)
      ? beside
      : undefined;
  const demoSecret =
    env.ANGELIA_DEMO_SECRET || readIfThere(join(dataDirectory(runtime), 'etc', 'demo-secret'))?.trim();
  return {
    ...env,
    ...(config === undefined ? {} : { ANGELIA_CONFIG: config }),
    ...(demoSecret ? { ANGELIA_DEMO_SECRET: demoSecret } : {}),
  };
}
