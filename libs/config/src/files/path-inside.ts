import { realpathSync } from 'node:fs';
import { isAbsolute, relative, resolve, sep } from 'node:path';

/**
 * The real path of a file that must lie inside a directory, by whatever `..` or symbolic links it is reached.
 *
 * @returns the reason when it is not there or not inside
 */
export function realPathInside(
  directory: string,
  path: string,
): { readonly path: string } | { readonly reason: string } {
  const root = realPath(directory);
  if (root === null) return { reason: `there is no directory ${resolve(directory)}` };
  const real = realPath(resolve(root, path));
  if (real === null) return { reason: `there is no file ${path} in ${root}` };
  const inside = relative(root, real);
  if (inside === '' || inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)) {
    return { reason: `${path} is outside of ${root}` };
  }
  return { path: real };
}

function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null; // gone, a loop of links, or not ours to look at: for the caller it is not there
  }
}
