import { realpathSync } from 'node:fs';
import { release } from 'node:os';
import { isInside } from '@angelia/config';
import type { ProcessWatcherConfig } from '@angelia/contracts';
import type { Account } from '../users/account-files.ts';
import type { FindProgram } from './find-program.ts';
import type { HiddenPaths } from './hidden-paths.ts';
import {
  type Attempt,
  type Enclosed,
  type EnclosureOptions,
  type Isolation,
  NOT_RUN,
  type Program,
  quoted,
  supplementaryGroups,
} from './isolation.ts';
import { type ProbeDirectories, probeIsolation } from './probe.ts';

/** The user that owns nothing, to probe whether a user can be isolated. */
const NOBODY = { uid: 65_534, gid: 65_534 };
/** Before this kernel version `hidepid` applies to every /proc of the host at once: we would change the host. */
const HIDEPID_PER_MOUNT = [5, 8] as const;
/** Mount options of the empty directory that replaces the data directory: room for a few entries. */
const EMPTY_OPTIONS = 'mode=711,size=64k,nr_inodes=64,nosuid,nodev,noexec';

/**
 * For root: a mount namespace without the data directory, the config and other users' processes, then the session's own
 * user, without any capability and without a way to get one. Every step becomes the next one (exec), so that the command
 * is the process that the supervisor started, with its pid, its signals and its exit code. bubblewrap would stay in between.
 */
export function namespaces(options: {
  readonly config: Pick<ProcessWatcherConfig, 'network'>;
  /** Called for each command, because files come and go. */
  readonly hidden: () => HiddenPaths;
  readonly directories: ProbeDirectories;
  readonly find: FindProgram;
  readonly kernel?: string;
}): Attempt {
  const { config, hidden, find } = options;
  const kernel = options.kernel ?? release();
  if (!isAtLeast(kernel, HIDEPID_PER_MOUNT)) {
    return {
      ok: false,
      reason: `Linux ${HIDEPID_PER_MOUNT.join('.')} or newer is needed, this is ${kernel}`,
    };
  }
  // By their paths, because they run as root: the PATH of commands may hold directories that commands can write to.
  const [unshare, setpriv, mount, mkdir] = ['unshare', 'setpriv', 'mount', 'mkdir'].map(find);
  if (!unshare || !setpriv || !mount || !mkdir) {
    return { ok: false, reason: 'unshare, mount and setpriv (util-linux) are not all installed' };
  }
  const tools = { mount, mkdir, ip: find('ip') };
  const isolation: Isolation = {
    kind: 'namespaces',
    summary: `own user and mount namespace, network: ${config.network}`,
    warning: null,
    enclose(program: Program, { work, user, account, shared, joinErrors }: EnclosureOptions): Enclosed {
      const { uid, gid } = user ?? NOBODY;
      const script = [
        ...(joinErrors ? ['exec 2>&1'] : []),
        ...nameUser(tools, account),
        setUp(tools, hidden(), realpathSync(work), config.network === 'none'),
        'exec "$@"',
      ].join('\n');
      const drop = [
        ...[setpriv, `--reuid=${uid}`, `--regid=${gid}`, ...supplementaryGroups(shared.groups)],
        ...['--no-new-privs'],
        ...['--bounding-set=-all', '--inh-caps=-all', '--'],
      ];
      return {
        file: unshare,
        args: [
          ...['--mount', '--propagation', 'slave', ...(config.network === 'none' ? ['--net'] : []), '--'],
          ...['/bin/sh', '-c', script, 'angelia', ...drop, program.file, ...program.args],
        ],
        becomesUser: true,
      };
    },
  };
  const reason = probeIsolation(isolation.enclose, options.directories, NOBODY);
  return reason === null ? { ok: true, isolation } : { ok: false, reason };
}

interface Tools {
  readonly mount: string;
  readonly mkdir: string;
  readonly ip: string | null;
}

function setUp(tools: Tools, hidden: HiddenPaths, work: string, ownNetwork: boolean): string {
  const mount = quoted(tools.mount);
  const steps = [
    // The session's user may pass through the directories that lead to its own, but cannot list them.
    'umask 066',
    `${mount} -t proc -o nosuid,nodev,noexec,hidepid=2 proc /proc`,
    ...hidden.directories.flatMap((directory) => hide(tools, directory, work)),
    ...hidden.files.map((path) => `${mount} --bind /dev/null ${quoted(path)}`),
  ].map((step) => `${step} || refuse`);
  return [
    `refuse() { echo 'angelia: the command could not be isolated, and was not run'; exit ${NOT_RUN}; }`,
    ...steps,
    // For servers that the command starts for itself. Without `ip` there is no loopback either.
    ...(ownNetwork && tools.ip !== null ? [`${quoted(tools.ip)} link set lo up`] : []),
  ].join('\n');
}

/** Before the session's files are hidden. A host without these files, or whose files cannot be covered, gives no name. */
function nameUser({ mount }: Tools, account: Account | null): string[] {
  if (!account?.files) return [];
  return Object.entries(account.files).map(
    ([name, path]) => `${quoted(mount)} --bind ${quoted(path)} /etc/${name} 2>/dev/null`,
  );
}

/** Puts an empty directory in its place, with the path to the session's own files if that leads through it. */
function hide(tools: Tools, directory: string, work: string): string[] {
  const mount = quoted(tools.mount);
  const empty = `${mount} -t tmpfs -o ${EMPTY_OPTIONS} tmpfs ${quoted(directory)}`;
  if (!isInside(work, directory)) return [empty];
  return [
    `exec 9<${quoted(work)}`,
    empty,
    `${quoted(tools.mkdir)} -p ${quoted(work)}`,
    // By the descriptor: the path is hidden already and must not be looked up again (--no-canonicalize).
    `${mount} --no-canonicalize --bind /proc/self/fd/9 ${quoted(work)}`,
    'exec 9<&-',
  ];
}

function isAtLeast(kernel: string, [wantedMajor, wantedMinor]: readonly [number, number]): boolean {
  const [major = 0, minor = 0] = kernel.split(/[.-]/).map(Number);
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}
