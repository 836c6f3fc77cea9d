import { readFileSync, statfsSync } from 'node:fs';

const MEMORY_DIRECTORY = '/dev/shm';
/** A whole run needs 1.5 GB at its peak. */
const ROOM_BYTES = 4 * 1024 ** 3;

/**
 * Where tests keep their temporary files (TMPDIR): in memory where there is room, else undefined. A run makes and deletes
 * hundreds of thousands of files, most of them of databases: that took a third of its CPU on ext4 without a journal, which
 * looks for an inode that was not deleted lately.
 */
export function testDirectory(): string | undefined {
  if (process.env.TMPDIR !== undefined || process.platform !== 'linux') return process.env.TMPDIR;
  try {
    const { bavail, bsize } = statfsSync(MEMORY_DIRECTORY);
    return bavail * bsize >= ROOM_BYTES && availableMemory() >= ROOM_BYTES && runsPrograms()
      ? MEMORY_DIRECTORY
      : undefined;
  } catch {
    return undefined; // there is none
  }
}

function availableMemory(): number {
  const line = /^MemAvailable:\s+(\d+) kB/m.exec(readFileSync('/proc/meminfo', 'utf8'));
  return Number(line?.[1] ?? 0) * 1024;
}

/** Tests run programs that they have written. Docker mounts it with `noexec`. */
function runsPrograms(): boolean {
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  const options = mounts.findLast((line) => line.split(' ')[1] === MEMORY_DIRECTORY)?.split(' ')[3];
  return options !== undefined && !options.split(',').includes('noexec');
}
