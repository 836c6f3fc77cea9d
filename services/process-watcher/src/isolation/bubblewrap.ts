import { mkdirSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
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
  type Program,
  quoted,
} from './isolation.ts';
import { type ProbeDirectories, probeIsolation } from './probe.ts';
import { seccompFilter } from './seccomp.ts';

/** What programs need of the system. The last ones are for NixOS, and for the target of /etc/resolv.conf. */
const SYSTEM = [
  ...['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/etc', '/opt'],
  ...['/nix/store', '/run/current-system', '/run/systemd/resolve'],
];

interface Visible {
  /** The path on the host, without links. */
  readonly source: string;
  /** The path that commands see. */
  readonly path: string;
  readonly writable: boolean;
}

/**
 * Without root: namespaces by bubblewrap. To the kernel all commands are the service's own user, so they must see nothing
 * that this user could use against us: no files but the system's, the session's own and those that the config names, and
 * no processes but the command's own, because a user may signal any process of its own that it can name. bubblewrap stays
 * between the supervisor and the command and passes on its exit code: 128 + n after a signal, as in a shell.
 */
export function bubblewrap(options: {
  readonly config: Pick<ProcessWatcherConfig, 'network' | 'read_paths' | 'write_paths'>;
  /** Called for each command, because files come and go. */
  readonly hidden: () => HiddenPaths;
  readonly directories: ProbeDirectories;
  readonly find: FindProgram;
}): Attempt & { readonly sees?: (path: string) => boolean } {
  const { config, hidden, directories, find } = options;
  const [bwrap, env] = [find('bwrap'), find('env')];
  if (bwrap === null || env === null) return { ok: false, reason: 'bubblewrap (bwrap) is not installed' };
  const visible = [
    ...SYSTEM.flatMap((path) => existing(path, false)),
    ...config.read_paths.flatMap((path) => existing(path, false)),
    ...config.write_paths.flatMap((path) => existing(path, true)),
  ];
  const filter = seccompFilter();
  const filterFile = join(directories.root, 'supervisors', 'commands.seccomp');
  if (filter !== null) writeFilter(filterFile, filter);
  const fixed = [
    ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ...(config.network === 'none' ? ['--unshare-net'] : []),
  ];
  // bubblewrap itself must survive the SIGTERM to the command's group. Otherwise the command would have no time to save
  // anything, and its exit code would be lost. Children inherit an ignored signal, so `env` restores it for the command.
  const script = (joinErrors: boolean): string =>
    [
      ...(joinErrors ? ['exec 2>&1'] : []),
      `trap '' TERM`,
      `exec "$@"${filter === null ? '' : ` 9<${quoted(filterFile)}`}`,
    ].join('\n');

  const isolation: Isolation = {
    kind: 'bubblewrap',
    summary: `namespaces (bubblewrap), network: ${config.network}`,
    warning: null,
    enclose(program: Program, { work, account, shared, joinErrors }: EnclosureOptions): Enclosed {
      // The session's own, so that a command finds what an earlier one wrote there.
      const tmp = join(dirname(work), 'tmp');
      mkdirSync(tmp, { recursive: true, mode: 0o700 });
      const now = hidden();
      const masks = visible.flatMap((one) => masksIn(one, now));
      const binds = [
        ...['--bind', tmp, '/tmp'],
        ...visible.flatMap(bind),
        ...masks,
        ...(account?.files ? nameUser(account.files) : []),
        ...shared.paths.flatMap((path) => ['--bind', path, path]),
        ...['--proc', '/proc', '--dev', '/dev', '--bind', work, work],
        // These are in memory, and commands must not fill it.
        ...masks.flatMap((word, index) =>
          word === '--tmpfs' ? ['--remount-ro', masks[index + 1] ?? ''] : [],
        ),
        ...['--remount-ro', '/'],
        ...(filter === null ? [] : ['--seccomp', '9']),
      ];
      return {
        file: '/bin/sh',
        args: [
          ...['-c', script(joinErrors), 'angelia', bwrap, ...fixed, ...binds, '--'],
          ...[env, '--default-signal=TERM', program.file, ...program.args],
        ],
        becomesUser: false,
      };
    },
  };
  const reason = probeIsolation(isolation.enclose, directories, null);
  if (reason !== null) return { ok: false, reason };
  return { ok: true, isolation, sees: (path) => visible.some((one) => isInside(path, one.path)) };
}

/** A container may run as a number that its image has no name for. */
function nameUser({ passwd, group }: NonNullable<Account['files']>): string[] {
  return ['--ro-bind', passwd, '/etc/passwd', '--ro-bind', group, '/etc/group'];
}

function existing(path: string, writable: boolean): Visible[] {
  try {
    return [{ source: realpathSync(path), path, writable }];
  } catch {
    return [];
  }
}

function bind({ source, path, writable }: Visible): string[] {
  return [writable ? '--bind' : '--ro-bind', source, path];
}

/** Empty if nothing hidden is in what commands see here. */
function masksIn({ source, path }: Visible, { directories, files }: HiddenPaths): string[] {
  const shown = (hidden: string): string[] =>
    isInside(hidden, source) ? [join(path, relative(source, hidden))] : [];
  return [
    ...directories.flatMap(shown).flatMap((place) => ['--tmpfs', place]),
    ...files.flatMap(shown).flatMap((place) => ['--ro-bind', '/dev/null', place]),
  ];
}

/** Replaced in one step: another watcher of this data directory may be starting a command with it. */
function writeFilter(path: string, filter: Buffer): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const beside = `${path}.${process.pid}`;
  writeFileSync(beside, filter, { mode: 0o600 });
  renameSync(beside, path);
}
