import { checkConfigFile, checkRouteFiles } from '../check/check-file.ts';
import { serviceNames } from '../environment.ts';
import { configSource } from '../live/config-source.ts';
import { withEnvFile } from '../load/env-file.ts';
import { EXIT_CONFIG, StartupError, startupMessage } from '../startup-error.ts';

/**
 * `check-config`: checks whether the services would start with this config. If not: exit code 78, one line per problem.
 * With `--or-last-good` (the launcher), a wrong file is a warning if every service has a last good copy to start with.
 */
try {
  const { config, path, demo } = checkConfigFile(withEnvFile(process.env));
  const routes = Object.keys(config.routes).length;
  process.stdout.write(
    `angelia: ${demo ? 'built-in demo config' : path} is good (${routes} route${routes === 1 ? '' : 's'})\n`,
  );
} catch (error) {
  if (!(error instanceof StartupError)) throw error;
  if (process.argv.includes('--or-last-good') && everyServiceHasACopy()) {
    for (const line of error.lines) process.stdout.write(`warning: ${line}\n`);
  } else {
    process.stderr.write(startupMessage(error));
    process.exitCode = EXIT_CONFIG;
  }
}

function everyServiceHasACopy(): boolean {
  return serviceNames.every((service) => {
    try {
      const source = configSource(service, process.env);
      const kept = source.readKept();
      if (kept === null) return false;
      const loaded = source.load(kept);
      if (service === 'ingress') checkRouteFiles(loaded);
      return true;
    } catch (error) {
      if (error instanceof StartupError) return false;
      throw error;
    }
  });
}
