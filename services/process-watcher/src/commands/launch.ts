import { existsSync } from 'node:fs';
import type { ProcessWatcherConfig } from '@angelia/contracts';
import { NOT_RUN, type Program } from '../isolation/isolation.ts';

/** Joins stderr with stdout, so that their order is that of the writes. */
const JOIN = 'exec 2>&1';

/**
 * A program under our limits: a shell that sets them and then becomes the program, so that its pid, exit code and
 * signal are the program's own. A limit that cannot be set (a stricter one is in force) is not an error.
 */
export function underLimits(
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
  // dash and busybox call it -p, bash -u.
  if (max_user_processes > 0) {
    limits.push(`{ ulimit -u ${max_user_processes} || ulimit -p ${max_user_processes}; } 2>/dev/null`);
  }
  const script = [
    ...(options.joinErrors ? [JOIN] : []),
    'umask 077',
    ...limits,
    // Rather one of these than a service, when memory is short. (The supervisor asked for the opposite, for itself.)
    '{ echo 500 > /proc/self/oom_score_adj; } 2>/dev/null',
    // By the command's own user: ours may pass through directories that are closed to it.
    `cd -- "$1" || exit ${NOT_RUN}`,
    'shift',
    'exec "$@"',
  ].join('\n');
  return { file: '/bin/sh', args: ['-c', script, 'angelia', options.cwd, ...argv] };
}

/** The shell that reads a model's command line. */
export function shellArgv(command: string, config: Pick<ProcessWatcherConfig, 'shell'>): string[] {
  const shell = config.shell ?? (existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh');
  return [shell, '-c', command];
}

/** What programs need to be found and to print text. Everything else in our environment is ours. */
const PASSED_ON = ['PATH', 'LANG', 'LC_ALL', 'TZ'] as const;

export function environmentOf(
  work: string,
  sessionId: string,
  ...more: Readonly<Record<string, string>>[]
): Record<string, string> {
  const passedOn = PASSED_ON.flatMap((name) => {
    const value = process.env[name];
    return value === undefined || value === '' ? [] : [[name, value] as const];
  });
  return Object.assign(
    { LANG: 'C.UTF-8', TERM: 'dumb', PATH: '/usr/local/bin:/usr/bin:/bin' },
    Object.fromEntries(passedOn),
    { HOME: work, PWD: work, ANGELIA_SESSION_ID: sessionId },
    ...more,
  );
}
