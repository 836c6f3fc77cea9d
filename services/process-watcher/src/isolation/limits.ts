import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ProcessWatcherConfig } from '@angelia/contracts';
import { findProgramIn } from './find-program.ts';
import { NOT_RUN, type Program } from './isolation.ts';

/** Joins stderr with stdout, so that their lines come in the order in which they were written. */
const JOIN_ERRORS = 'exec 2>&1';

/**
 * A program under the configured limits: a shell sets them and then becomes the program (exec), so that pid, exit code and
 * signal are the program's own. A limit that cannot be set, because a stricter one is in force, is not an error.
 */
export function withLimits(
  argv: readonly string[],
  config: ProcessWatcherConfig,
  options: {
    readonly cwd: string;
    readonly joinErrors: boolean;
    /** True: its group may use the files that it makes. */
    readonly groupMayWrite: boolean;
    /** The PATH that the program is looked for in. */
    readonly path: string;
  },
): Program {
  const { cpu_seconds, memory_bytes, file_bytes, max_user_processes } = config;
  const limits = [
    'ulimit -c 0',
    ...(cpu_seconds > 0 ? [`ulimit -t ${cpu_seconds}`] : []),
    ...(memory_bytes > 0 ? [`ulimit -v ${Math.ceil(memory_bytes / 1024)}`] : []),
    // In blocks of 512 bytes.
    ...(file_bytes > 0 ? [`ulimit -f ${Math.ceil(file_bytes / 512)}`] : []),
  ].map((limit) => `${limit} 2>/dev/null`);
  // dash and busybox call it -p, bash calls it -u.
  if (max_user_processes > 0) {
    limits.push(`{ ulimit -u ${max_user_processes} || ulimit -p ${max_user_processes}; } 2>/dev/null`);
  }
  const script = [
    ...(options.joinErrors ? [JOIN_ERRORS] : []),
    // A session's group has no other member, unless it is the group of a shared directory.
    options.groupMayWrite ? 'umask 007' : 'umask 077',
    ...limits,
    // When memory runs short, the kernel should end a command rather than a service. (The supervisor asks for the opposite
    // for itself.)
    '{ echo 500 > /proc/self/oom_score_adj; } 2>/dev/null',
    // Done by the command's own user: ours may enter directories that are closed to it.
    `cd -- "$1" || exit ${NOT_RUN}`,
    CHECK_PROGRAM,
    'shift 2',
    'exec "$@"',
  ].join('\n');
  const missing = whyMissing(argv[0] ?? '', options);
  return { file: '/bin/sh', args: ['-c', script, 'angelia', options.cwd, missing, ...argv] };
}

/** Begins the line that says why a program was not started. */
export const NOT_STARTED = 'angelia: ';
/** The exit code of a shell that does not find a program. */
const NOT_FOUND = 127;

/**
 * `exec` alone would say "Permission denied" about a program that is nowhere, if a directory of PATH is closed to the
 * session's user. `$3` is the program, `$2` the sentence for the case that it cannot be run. In a subshell, which keeps its
 * variables to itself.
 */
const CHECK_PROGRAM = `(
case $3 in */*) [ -f "$3" ] && [ -x "$3" ]; exit ;; esac
set -f; IFS=:
for directory in $PATH; do [ -f "\${directory:-.}/$3" ] && [ -x "\${directory:-.}/$3" ] && exit 0; done
exit 1
) || { printf '${NOT_STARTED}%s\\n' "$2" >&2; exit ${NOT_FOUND}; }`;

/** The sentence for the case that the session's user finds no such program: we may see more than that user. */
function whyMissing(program: string, { cwd, path }: { readonly cwd: string; readonly path: string }): string {
  const named = program.includes('/');
  const seen = named ? resolve(cwd, program) : findProgramIn(path, [])(program);
  if (seen !== null && existsSync(seen)) {
    return `the program ${seen} is there, but the user of this session may not execute it, or does not see it. Install it where every user may read and execute it, such as /usr/local/bin (without root: add its directory to process_watcher.read_paths)`;
  }
  return `there is no program ${program} on the host of process-watcher${named ? '' : ` in PATH (${path})`}. Install it there, or write the whole path of the program into the config`;
}
