import { existsSync } from 'node:fs';
import type { ProcessWatcherConfig } from '@angelia/contracts';

/** The shell that reads a model's command line. */
export function shellArgv(command: string, config: Pick<ProcessWatcherConfig, 'shell'>): string[] {
  const shell = config.shell ?? (existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh');
  return [shell, '-c', command];
}

/** What programs need to be found and to print text. Commands get nothing else of our environment. */
const PASSED_ON = ['PATH', 'LANG', 'LC_ALL', 'TZ'] as const;

export function commandEnvironment(
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
