import { exposedFileProblems } from '../check/exposed-files.ts';
import { checkEnvironment } from '../environment.ts';
import { routeFileProblems } from '../files/route-files.ts';
import { loadConfig } from '../load/load.ts';
import { EXIT_CONFIG, StartupError, startupMessage } from '../startup-error.ts';

/** `check-config`: checks whether the services would start with this config. If not: exit code 78, one line per problem. */
try {
  checkEnvironment(process.env);
  const loaded = loadConfig(process.env);
  const { config, path, demo } = loaded;
  const missing = Object.entries(config.routes).flatMap(([name, route]) =>
    routeFileProblems(name, route, config.directories),
  );
  if (missing.length > 0) {
    throw new StartupError(missing.map(({ place, reason }) => `${place}: ${reason} (in ${path})`));
  }
  const open = exposedFileProblems(loaded);
  if (open.length > 0) throw new StartupError(open);
  const routes = Object.keys(config.routes).length;
  process.stdout.write(
    `angelia: ${demo ? 'built-in demo config' : path} is good (${routes} route${routes === 1 ? '' : 's'})\n`,
  );
} catch (error) {
  if (!(error instanceof StartupError)) throw error;
  process.stderr.write(startupMessage(error));
  process.exitCode = EXIT_CONFIG;
}
