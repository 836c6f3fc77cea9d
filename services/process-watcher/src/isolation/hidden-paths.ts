import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';

/** What no command may see, by its real path: the data directory, the config file, and variables that are kept beside it. */
export interface Hidden {
  readonly directories: readonly string[];
  readonly files: readonly string[];
}

/** `configFile`: null for the built-in demo config, which is no secret. */
export function hiddenFrom(dataDirectory: string, configFile: string | null): Hidden {
  const config = configFile === null ? null : resolve(configFile);
  const variables = [process.cwd(), ...(config === null ? [] : [dirname(config)])].map((dir) =>
    join(dir, '.env'),
  );
  const data = realpathSync(dataDirectory);
  const files = [...(config === null ? [] : [config]), ...variables]
    .filter((path) => existsSync(path) && statSync(path).isFile())
    .map((path) => realpathSync(path))
    .filter((path) => !isInside(path, data));
  return { directories: [data], files: [...new Set(files)] };
}

/** The directory itself, too. */
export function isInside(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way === '' || !(way === '..' || way.startsWith(`..${sep}`));
}
