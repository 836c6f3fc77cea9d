import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { User } from '../users/user-policy.ts';
import { type Enclosed, type EnclosureOptions, type Program, quoted } from './isolation.ts';

/** Enough for some ten programs, one after the other, on a busy machine. */
const PROBE_MS = 30_000;

/** Where a probe puts its files: beside those of the sessions. */
export interface ProbeDirectories {
  /** `$ANGELIA_DATA/processes`. */
  readonly root: string;
  /** Undefined if the sessions' files are under the root. */
  readonly workElsewhere: string | undefined;
}

/**
 * Runs one small command in isolation and checks that the isolation holds. It tests what happens, not the host's settings:
 * the kernel, a container's profile and AppArmor can each refuse. Null if the isolation holds, otherwise why not.
 */
export function probeIsolation(
  enclose: (program: Program, where: EnclosureOptions) => Enclosed,
  directories: ProbeDirectories,
  user: User | null,
): string | null {
  const { root, workElsewhere } = directories;
  const secret = mkdtempSync(join(root, 'probe-'));
  const above = workElsewhere ?? root;
  let session: string | null = null;
  try {
    mkdirSync(above, { recursive: true, mode: 0o711 });
    session = mkdtempSync(join(above, 'probe-'));
    const work = join(session, 'work');
    mkdirSync(work, { mode: 0o700 });
    chmodSync(session, 0o711);
    if (user !== null) chownSync(work, user.uid, user.gid);
    // Open to everybody, so that only the isolation can hide it.
    chmodSync(secret, 0o755);
    writeFileSync(join(secret, 'secret'), '', { mode: 0o644 });
    const script = [
      `[ -e ${quoted(join(secret, 'secret'))} ] && echo 'commands still see the data directory' && exit 1`,
      `[ -e /proc/${process.pid}/stat ] && echo 'commands still see the processes of others' && exit 1`,
      `cd ${quoted(work)} && : > file || exit 1`,
    ].join('\n');
    const { file, args, becomesUser } = enclose(
      { file: '/bin/sh', args: ['-c', script] },
      { work, user, account: null, shared: { paths: [], groups: [] }, joinErrors: true },
    );
    const ran = spawnSync(file, args, {
      cwd: '/',
      env: { PATH: process.env.PATH ?? '' },
      encoding: 'utf8',
      timeout: PROBE_MS,
      killSignal: 'SIGKILL',
      stdio: ['ignore', 'pipe', 'ignore'],
      ...(user === null || becomesUser ? {} : { uid: user.uid, gid: user.gid }),
    });
    if (ran.status === 0) return null;
    const said = ran.stdout?.trim().split('\n').at(0) ?? '';
    return said === '' ? (ran.error?.message ?? `exit code ${ran.status ?? ran.signal}`) : said;
  } catch (error) {
    return (error as Error).message;
  } finally {
    rmSync(secret, { recursive: true, force: true });
    if (session !== null) rmSync(session, { recursive: true, force: true });
    if (workElsewhere !== undefined) removeIfEmpty(workElsewhere);
  }
}

/** The directory is made with the first session's files, and then stays. */
function removeIfEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // It holds files of sessions.
  }
}
