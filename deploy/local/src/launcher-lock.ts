import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FrontProcess, isFrontGone } from '../bootstrap/front.mjs';
import { type LockOwner, tryLock } from '../bootstrap/lock.mjs';
import { isSameProcess } from '../bootstrap/process-identity.mjs';
import { LaunchError } from './launch-error.ts';
import type { Layout } from './layout.ts';
import { until } from './until.ts';

/** One launcher per data directory. */
export interface LauncherLock {
  /** Says to a launcher that starts meanwhile that this one is on its way out and worth waiting for. */
  markStopping(): void;
  release(): void;
}

/** How long an orphaned launcher (its npm was killed) has for its drain when the next one is waiting already. */
const ORPHAN_PATIENCE_MS = 10_000;

export async function lockDataDirectory(
  layout: Layout,
  options: { front?: FrontProcess[]; say?: (line: string) => void } = {},
): Promise<LauncherLock> {
  const path = join(layout.run, 'launcher.lock');
  const stopping = join(path, 'stopping');
  for (;;) {
    const result = tryLock(path, { front: options.front ?? [] });
    if ('lock' in result) {
      return {
        markStopping: () => writeFileSync(stopping, ''),
        release: () => result.lock.release(),
      };
    }
    const holder = result.heldBy;
    const orphaned = isFrontGone(frontOf(holder));
    if (!orphaned && !existsSync(stopping)) {
      throw new LaunchError(
        'ALREADY_RUNNING',
        `already running on ${layout.dataDir} (launcher pid ${holder.pid}): stop that one first, or set ANGELIA_DATA and ANGELIA_PORT for a second stack`,
      );
    }
    options.say?.(`waiting for the launcher before this one (pid ${holder.pid}) to stop`);
    const gone = () => !isSameProcess(holder.pid, holder.identity);
    if (await until(gone, orphaned ? ORPHAN_PATIENCE_MS : Number.POSITIVE_INFINITY, 50)) continue;
    process.kill(holder.pid, 'SIGKILL');
    await until(gone, ORPHAN_PATIENCE_MS, 50);
  }
}

function frontOf(owner: LockOwner): FrontProcess[] {
  return Array.isArray(owner.note.front) ? owner.note.front : [];
}
