import { execFile, spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { promisify } from 'node:util';

/**
 * Some files of /proc are open only to the process's own user, and to root with the capability SYS_PTRACE. Containers seldom
 * have that (Docker's default, the Pod Security level `baseline`), and it could do far more than we need. So root becomes
 * that user for a moment and reads the file as such.
 */
const READ_MS = 5_000;

/** Which of these processes have an entry with this prefix in their environment; the entries by pid, without the prefix. */
export function environmentsAsOwner(pids: readonly number[], prefix: string): Map<number, string[]> {
  const found = new Map<number, string[]>();
  for (const [uid, own] of Map.groupBy(pids, ownerOf)) {
    if (uid === null) continue;
    const paths = own.map((pid) => `/proc/${pid}/environ`);
    // One program for all of them: entries end with a 0, also in the output.
    const { stdout } = spawnSync('grep', ['-zaHs', '-e', `^${prefix}`, '--', ...paths], {
      ...as(uid),
      timeout: READ_MS,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    for (const line of (stdout ?? '').split('\0')) {
      const [, pid, entry] = /^\/proc\/(\d+)\/environ:(.*)$/s.exec(line) ?? [];
      if (pid === undefined || entry === undefined) continue;
      found.set(Number(pid), [...(found.get(Number(pid)) ?? []), entry.slice(prefix.length)]);
    }
  }
  return found;
}

/** @throws if it cannot be read in this way either */
export async function fileAsOwner(pid: number, name: string): Promise<string> {
  const uid = ownerOf(pid);
  if (uid === null) throw new Error(`process ${pid} has no other user`);
  const { stdout } = await promisify(execFile)('cat', [`/proc/${pid}/${name}`], {
    ...as(uid),
    timeout: READ_MS,
  });
  return stdout;
}

/** Null if we are that user, or cannot become it. */
function ownerOf(pid: number): number | null {
  const uid = statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid;
  return process.getuid?.() === 0 && uid !== undefined && uid !== 0 ? uid : null;
}

function as(uid: number) {
  return { uid, gid: uid, cwd: '/', env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' } };
}
