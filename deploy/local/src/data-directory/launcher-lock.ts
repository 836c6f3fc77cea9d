import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type LockOwner, tryLock } from '../../bootstrap/lock.mjs';
import { isParentGone, type ParentProcess } from '../../bootstrap/parent-processes.mjs';
import { isSameProcess } from '../../bootstrap/process-identity.mjs';
import { LaunchError } from '../launch-error.ts';
import { waitUntil } from '../wait-until.ts';
import type { Layout } from './layout.ts';

/** The lock that allows one launcher per data directory. */
export interface LauncherLock {
  /** Tells a launcher that starts meanwhile that this one is stopping, and that it should wait. */
  markStopping(): void;
  release(): void;
}

/** How long an orphaned launcher (its npm was killed) may drain while the next one waits. */
const ORPHAN_WAIT_MS = 10_000;

export async function lockDataDirectory(
  layout: Layout,
  options: { parents?: ParentProcess[]; say?: (line: string) => void } = {},
): Promise<LauncherLock> {
  const path = join(layout.run, 'launcher.lock');
  const stopping = join(path, 'stopping');
  for (;;) {
    const result = tryLock(path, { front: options.parents ?? [] });
    if ('lock' in result) {
      return {
        markStopping: () => writeFileSync(stopping, ''),
        release: () => result.lock.release(),
      };
    }
    const holder = result.heldBy;
    const orphaned = isParentGone(parentsOf(holder));
    if (!orphaned && !existsSync(stopping)) {
      throw new LaunchError(
        'ALREADY_RUNNING',
        `already running on ${layout.dataDir} (launcher pid ${holder.pid}): stop that one first, or set ANGELIA_DATA and ANGELIA_PORT for a second stack`,
      );
    }
    options.say?.(`waiting for the previous launcher (pid ${holder.pid}) to stop`);
    const gone = () => !isSameProcess(holder.pid, holder.identity);
    if (await waitUntil(gone, orphaned ? ORPHAN_WAIT_MS : Number.POSITIVE_INFINITY, 50)) continue;
    process.kill(holder.pid, 'SIGKILL');
    await waitUntil(gone, ORPHAN_WAIT_MS, 50);
  }
}

/** The lock's note calls them `front`, also in the locks of earlier versions. */
function parentsOf(owner: LockOwner): ParentProcess[] {
  return Array.isArray(owner.note.front) ? owner.note.front : [];
}
