import type { ProcessWatcherConfig } from '@angelia/contracts';
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
  options: { readonly cwd: string; readonly joinErrors: boolean },
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
    'umask 077',
    ...limits,
    // When memory runs short, the kernel should end a command rather than a service. (The supervisor asks for the opposite
    // for itself.)
    '{ echo 500 > /proc/self/oom_score_adj; } 2>/dev/null',
    // Done by the command's own user: ours may enter directories that are closed to it.
    `cd -- "$1" || exit ${NOT_RUN}`,
    'shift',
    'exec "$@"',
  ].join('\n');
  return { file: '/bin/sh', args: ['-c', script, 'angelia', options.cwd, ...argv] };
}
