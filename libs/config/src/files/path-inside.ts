import { realpathSync } from 'node:fs';
import { isAbsolute, relative, resolve, sep } from 'node:path';

/**
 * The real path of a file that must be inside a directory, after `..` and symbolic links are resolved.
 *
 * @returns a reason if the file does not exist or is outside
 */
export function realPathInside(
  directory: string,
  path: string,
): { readonly path: string } | { readonly reason: string } {
  const root = realPath(directory);
  if (root === null) return { reason: `there is no directory ${resolve(directory)}` };
  const real = realPath(resolve(root, path));
  if (real === null) return { reason: `there is no file ${path} in ${root}` };
  if (real === root || !isInside(real, root)) return { reason: `${path} is outside ${root}` };
  return { path: real };
}

/** Both are absolute. A directory is inside itself. */
export function isInside(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null; // Missing, a loop of links, or unreadable: for the caller it does not exist.
  }
}
