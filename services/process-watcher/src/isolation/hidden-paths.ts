import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isInside } from '@angelia/config';

/** The real paths that no command may see: the data directory, the config file, and `.env` files beside it. */
export interface HiddenPaths {
  readonly directories: readonly string[];
  readonly files: readonly string[];
}

/** `configFile` is null for the built-in demo config, which is not secret. */
export function hiddenFrom(dataDirectory: string, configFile: string | null): HiddenPaths {
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
