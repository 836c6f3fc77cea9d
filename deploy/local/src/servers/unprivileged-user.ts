import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { LaunchError } from '../launch-error.ts';

/**
 * Postgres refuses to run as root. If we are root, we start it as another user. That user must reach its files, although a
 * directory above them may be closed to everyone but root (`mktemp -d`, /root). `setpriv` then gives the program the one
 * capability to pass through such directories. It still owns and writes nothing but its data directory.
 */
interface ProgramUser {
  readonly uid?: number;
  readonly gid?: number;
  wrap(command: string, args: readonly string[]): { command: string; args: string[] };
}

const asOurselves: ProgramUser = { wrap: (command, args) => ({ command, args: [...args] }) };

/** Users to run as, best first. Systems usually have both; we create none. */
const USERS = ['postgres', 'nobody'];

/** Each lets a program pass closed directories. The first is weaker, but Docker's default set only has the second. */
const CAPABILITIES = [
  { name: 'dac_read_search', bit: 2n },
  { name: 'dac_override', bit: 1n },
];

/**
 * @param paths what the program must reach
 * @param ownedBy the owner of existing data, which then decides the user
 */
export function unprivilegedUser(paths: readonly string[], ownedBy: number | null): ProgramUser {
  if (process.getuid?.() !== 0) return asOurselves;
  const { uid, gid } = chooseUser(ownedBy);
  if (paths.every((path) => isReachable(path, uid, gid))) {
    return { uid, gid, wrap: asOurselves.wrap };
  }
  const capability = heldCapability();
  if (process.platform !== 'linux' || capability === null) {
    throw new LaunchError(
      'POSTGRES_FAILED',
      `Postgres cannot run as root, and user ${uid} cannot reach ${paths.find((path) => !isReachable(path, uid, gid))}: put the clone and ANGELIA_DATA where other users may enter, or run as another user`,
    );
  }
  return {
    wrap: (command, args) => ({
      command: 'setpriv',
      args: [
        ...[`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'],
        ...[`--inh-caps=+${capability}`, `--ambient-caps=+${capability}`],
        // Without this, access(2), with which initdb looks for postgres, ignores capabilities.
        '--securebits=+no_setuid_fixup',
        '--',
        command,
        ...args,
      ],
    }),
    // setpriv itself must start as root. It becomes this user and then the program, under the same pid.
    uid: undefined,
    gid: undefined,
  };
}

/** The user who must own the files; null if we own them ourselves. */
export function unprivilegedOwner(ownedBy: number | null): { uid: number; gid: number } | null {
  return process.getuid?.() === 0 ? chooseUser(ownedBy) : null;
}

function chooseUser(ownedBy: number | null): { uid: number; gid: number } {
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name, , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
    .filter(({ uid, gid }) => uid > 0 && gid > 0);
  const owner = ownedBy === null ? undefined : users.find(({ uid }) => uid === ownedBy);
  const user = owner ?? USERS.map((name) => users.find((one) => one.name === name)).find(Boolean);
  if (user) return { uid: user.uid, gid: user.gid };
  throw new LaunchError(
    'POSTGRES_FAILED',
    `Postgres cannot run as root, and there is no user ${USERS.join(' or ')} to run it as: run as another user, or set DATABASE_URL`,
  );
}

function isReachable(path: string, uid: number, gid: number): boolean {
  for (let dir = path; ; dir = dirname(dir)) {
    const { mode, uid: owner, gid: group } = statSync(dir);
    const may = owner === uid ? mode & 0o100 : group === gid ? mode & 0o010 : mode & 0o001;
    if (!may) return false;
    if (dir === dirname(dir)) return true;
  }
}

function heldCapability(): string | null {
  try {
    const permitted = /^CapPrm:\s*([0-9a-f]+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
    const bits = BigInt(`0x${permitted}`);
    return CAPABILITIES.find(({ bit }) => (bits >> bit) & 1n)?.name ?? null;
  } catch {
    return null; // no /proc: not Linux
  }
}
