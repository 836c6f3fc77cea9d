import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Lets git work in the directory that the config names. It belongs to another user than the session's, which git refuses
 * ("dubious ownership") unless its configuration says that the directory is safe: as the operator chose it, it is.
 */
export function safeDirectoryEnvironment(
  cwd: string | undefined,
  environment: Readonly<Record<string, string>>,
): Record<string, string> {
  if (cwd === undefined) return {};
  const real = realPath(cwd);
  const safe = new Set([cwd, real, checkoutAround(real), `${real}/*`]);
  // The config may use the same variables.
  const first = Number(environment.GIT_CONFIG_COUNT ?? 0) || 0;
  const entries = [...safe].flatMap((directory, index) => [
    [`GIT_CONFIG_KEY_${first + index}`, 'safe.directory'],
    [`GIT_CONFIG_VALUE_${first + index}`, directory],
  ]);
  return { ...Object.fromEntries(entries), GIT_CONFIG_COUNT: String(first + safe.size) };
}

/** git compares the top of the checkout, and `cwd` may be further down. */
function checkoutAround(path: string): string {
  for (let directory = path; ; directory = dirname(directory)) {
    if (existsSync(join(directory, '.git'))) return directory;
    if (directory === dirname(directory)) return path;
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
