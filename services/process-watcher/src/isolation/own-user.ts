import type { FindProgram } from './find-program.ts';
import type { Isolation } from './isolation.ts';

/** As root without the right to mount (containers): the session's user alone, whom the modes of files keep out. */
export function ownUser(find: FindProgram, whyNotMore: string): Isolation {
  const setpriv = find('setpriv');
  return {
    kind: 'own-user',
    summary: `own user, network: host (no mount namespace: ${whyNotMore})`,
    warning: null,
    enclose: ({ file, args }) => ({
      ...(setpriv === null
        ? { file, args }
        : // No program of another user's (sudo, su) gives it that user's rights.
          { file: setpriv, args: ['--no-new-privs', '--', file, ...args] }),
      becomesUser: false,
    }),
  };
}
