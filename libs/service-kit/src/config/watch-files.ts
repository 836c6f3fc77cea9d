import { statSync } from 'node:fs';
import { pause, untilTick } from '@angelia/waiting';

/**
 * How often to look at the files: two calls of stat a second. Looking also sees what a notification of the kernel misses:
 * the link `..data` that Kubernetes swaps, a file that an editor renames into place, mounts of containers and network
 * file systems.
 */
const LOOK_MS = 1_000;
/** A file that did not change for this long is complete: editors and `cp` write within milliseconds. */
const SETTLE_MS = 300;

interface WatchOptions {
  readonly signal: AbortSignal;
  /** Awaited: there is no second call meanwhile. */
  readonly onChange: () => Promise<unknown>;
  /** Tests shorten them. */
  readonly lookMs?: number;
  readonly settleMs?: number;
}

/**
 * Calls `onChange` after one of the files changed and then stayed the same for a moment. The first call comes at once: a
 * file may have changed between its last read and the first look. Ends with the signal.
 */
export async function watchFiles(paths: readonly string[], options: WatchOptions): Promise<void> {
  const { signal, onChange, lookMs = LOOK_MS, settleMs = SETTLE_MS } = options;
  let seen = stampOf(paths);
  await onChange();
  while (!signal.aborted) {
    await pause(untilTick(lookMs), signal);
    let stamp = stampOf(paths);
    if (stamp === seen) continue;
    for (let before = ''; before !== stamp && !signal.aborted; stamp = stampOf(paths)) {
      before = stamp;
      await pause(settleMs, signal);
    }
    seen = stamp;
    if (!signal.aborted) await onChange();
  }
}

/** Not by the thread pool: two calls take some microseconds, and each thread that wakes costs an idle service more. */
function stampOf(paths: readonly string[]): string {
  const stamps = paths.map((path) => {
    try {
      const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
      return [dev, ino, size, mtimeNs, ctimeNs].join(':');
    } catch (error) {
      return String((error as NodeJS.ErrnoException).code);
    }
  });
  return stamps.join(' ');
}
