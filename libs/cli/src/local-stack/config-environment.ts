import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Runtime } from '../runtime.ts';
import { dataDirectory, readIfThere } from './files.ts';

/**
 * The environment of the local stack's services, for reading the config file: with the full path of the file, and with the
 * secret of the demo route that the launcher generated.
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
