import { checkEnvironment, DEFAULT_DATA } from '../environment.ts';
import { routeFileProblems } from '../files/route-files.ts';
import { type LoadedConfig, loadConfig } from '../load/load.ts';
import { StartupError } from '../startup-error.ts';
import { commandProblems } from './commands.ts';
import { exposedFileProblems } from './exposed-files.ts';

/**
 * Checks whether the services would start with this config, as far as one can see without starting them.
 * @param env with the variables of `.env`
 * @throws StartupError, with places in the file where there are any
 */
export function checkConfigFile(env: NodeJS.ProcessEnv): LoadedConfig {
  checkEnvironment(env);
  const loaded = loadConfig(env);
  checkRouteFiles(loaded);
  const refused = commandProblems(loaded.config, env.ANGELIA_DATA || DEFAULT_DATA);
  if (refused.length > 0) throw loaded.refusal(refused);
  const open = exposedFileProblems(loaded);
  if (open.length > 0) throw new StartupError(open);
  return loaded;
}

/** Only ingress needs these files. */
export function checkRouteFiles({ config, refusal }: LoadedConfig): void {
  const missing = Object.entries(config.routes).flatMap(([name, route]) =>
    routeFileProblems(name, route, config.directories),
  );
  if (missing.length > 0) throw refusal(missing);
}
