import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { User } from '../users/user-policy.ts';
import { type Enclosed, type Enclosing, type Program, quoted } from './isolation.ts';

/** Some ten programs, one after the other, on a busy machine. */
const PROBE_MS = 30_000;

/** Where a probe may put its files: as those of a session. */
export interface ProbePlaces {
  /** `$ANGELIA_DATA/processes`. */
  readonly root: string;
  /** Undefined: the sessions' files are under the root. */
  readonly workElsewhere: string | undefined;
}

/**
 * Runs one small command in the enclosure, and looks whether that holds: by what it does, not by what the host says of
 * itself (a kernel's setting, a container's profile and AppArmor can each say no). Null: it holds; else why not.
 */
export function whyNot(
  enclose: (program: Program, where: Enclosing) => Enclosed,
  places: ProbePlaces,
  user: User | null,
): string | null {
  const { root, workElsewhere } = places;
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
    // Open to everybody: it is the enclosure that must hide it.
    chmodSync(secret, 0o755);
    writeFileSync(join(secret, 'secret'), '', { mode: 0o644 });
    const script = [
      `[ -e ${quoted(join(secret, 'secret'))} ] && echo 'commands still see the data directory' && exit 1`,
      `[ -e /proc/${process.pid}/stat ] && echo 'commands still see the processes of others' && exit 1`,
      `cd ${quoted(work)} && : > file || exit 1`,
    ].join('\n');
    const { file, args, becomesUser } = enclose(
      { file: '/bin/sh', args: ['-c', script] },
      { work, user, joinErrors: true },
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
    if (workElsewhere !== undefined) forgetIfEmpty(workElsewhere);
  }
}

/** That directory is made with the first session's files, and stays. */
function forgetIfEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // It has files of sessions.
  }
}
