import { realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { User } from './user-policy.ts';

/** Whether this is a directory that the user may enter, by the modes of all directories on the path. */
export function canEnter(path: string, user: User | null, groups: readonly number[] = []): boolean {
  try {
    const real = realpathSync(path);
    if (!statSync(real).isDirectory()) return false;
    for (let dir = real; user !== null; dir = dirname(dir)) {
      if (!isOpenTo(dir, user, groups)) return false;
      if (dir === dirname(dir)) break;
    }
    return true;
  } catch {
    return false;
  }
}

function isOpenTo(dir: string, user: User, groups: readonly number[]): boolean {
  const { mode, uid, gid } = statSync(dir);
  const bit = uid === user.uid ? 0o100 : gid === user.gid || groups.includes(gid) ? 0o010 : 0o001;
  return (mode & bit) !== 0;
}
