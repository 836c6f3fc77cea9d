import { mkdirSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { ProcessWatcherConfig } from '@angelia/contracts';
import type { FindProgram } from './find-program.ts';
import { type Hidden, isInside } from './hidden-paths.ts';
import {
  type Attempt,
  type Enclosed,
  type Enclosing,
  type Isolation,
  type Program,
  quoted,
} from './isolation.ts';
import { type ProbePlaces, whyNot } from './probe.ts';
import { seccompFilter } from './seccomp.ts';

/** What programs need of a system. The last ones: NixOS, and what /etc/resolv.conf leads to. */
const SYSTEM = [
  ...['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/etc', '/opt'],
  ...['/nix/store', '/run/current-system', '/run/systemd/resolve'],
];

interface Visible {
  /** Where it is on the host, without links. */
  readonly source: string;
  /** Where commands see it. */
  readonly path: string;
  readonly writable: boolean;
}

/**
 * Without root: namespaces by bubblewrap. All commands are the service's own user to the kernel, so that nothing may be
 * there that this user could use against us: no file but the system's, the session's own and what the config names; no
 * process but the command's own, as the same user may signal any that it can name. bubblewrap stays between the
 * supervisor and the command and passes on its exit code; of one that a signal ended that is 128 + n, as in a shell.
 */
export function bubblewrap(options: {
  readonly config: Pick<ProcessWatcherConfig, 'network' | 'read_paths' | 'write_paths'>;
  /** As of now: asked for each command, as files come and go. */
  readonly hidden: () => Hidden;
  readonly places: ProbePlaces;
  readonly find: FindProgram;
}): Attempt & { readonly sees?: (path: string) => boolean } {
  const { config, hidden, places, find } = options;
  const [bwrap, env] = [find('bwrap'), find('env')];
  if (bwrap === null || env === null) return { ok: false, reason: 'bubblewrap (bwrap) is not installed' };
  const visible = [
    ...SYSTEM.flatMap((path) => existing(path, false)),
    ...config.read_paths.flatMap((path) => existing(path, false)),
    ...config.write_paths.flatMap((path) => existing(path, true)),
  ];
  const filter = seccompFilter();
  const filterFile = join(places.root, 'supervisors', 'commands.seccomp');
  if (filter !== null) writeFilter(filterFile, filter);
  const fixed = [
    ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ...(config.network === 'none' ? ['--unshare-net'] : []),
  ];
  // bubblewrap itself must outlive the SIGTERM to the command's group, or the command would have no time to save
  // anything, and its exit code would be lost. What is ignored stays so for its children: `env` gives it back to them.
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
    enclose(program: Program, { work, joinErrors }: Enclosing): Enclosed {
      // The session's own, so that what one command writes there the next one finds.
      const tmp = join(dirname(work), 'tmp');
      mkdirSync(tmp, { recursive: true, mode: 0o700 });
      const now = hidden();
      const masks = visible.flatMap((one) => masksIn(one, now));
      const binds = [
        ...['--bind', tmp, '/tmp'],
        ...visible.flatMap(bind),
        ...masks,
        ...['--proc', '/proc', '--dev', '/dev', '--bind', work, work],
        // What holds these together is memory, and not for commands to fill.
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
  const reason = whyNot(isolation.enclose, places, null);
  if (reason !== null) return { ok: false, reason };
  return { ok: true, isolation, sees: (path) => visible.some((one) => isInside(path, one.path)) };
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

/** Nothing, where it is not in what commands see. */
function masksIn({ source, path }: Visible, { directories, files }: Hidden): string[] {
  const shown = (hidden: string): string[] =>
    isInside(hidden, source) ? [join(path, relative(source, hidden))] : [];
  return [
    ...directories.flatMap(shown).flatMap((place) => ['--tmpfs', place]),
    ...files.flatMap(shown).flatMap((place) => ['--ro-bind', '/dev/null', place]),
  ];
}

/** Whole or not at all: another watcher of this data directory may be starting a command with it. */
function writeFilter(path: string, filter: Buffer): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const beside = `${path}.${process.pid}`;
  writeFileSync(beside, filter, { mode: 0o600 });
  renameSync(beside, path);
}
