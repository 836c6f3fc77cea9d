import type { FindProgram } from './find-program.ts';
import type { Isolation } from './isolation.ts';

/** For root without the right to mount (in containers): the session's own user, whom only file modes keep out. */
export function ownUser(find: FindProgram, whyNotMore: string): Isolation {
  const setpriv = find('setpriv');
  return {
    kind: 'own-user',
    summary: `own user, network: host (no mount namespace: ${whyNotMore})`,
    warning: null,
    enclose: ({ file, args }) => ({
      ...(setpriv === null
        ? { file, args }
        : // Set-user-id programs (sudo, su) then give it no other user's rights.
          { file: setpriv, args: ['--no-new-privs', '--', file, ...args] }),
      becomesUser: false,
    }),
  };
}
