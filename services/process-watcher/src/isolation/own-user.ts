import { existsSync } from 'node:fs';
import type { Account } from '../users/account-files.ts';
import type { FindProgram } from './find-program.ts';
import { type Isolation, supplementaryGroups } from './isolation.ts';

/** Where Debian and Fedora have it. */
export const NSS_WRAPPERS = [
  `/usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu/libnss_wrapper.so`,
  '/usr/lib64/libnss_wrapper.so',
];

/** For root without the right to mount (in containers): the session's own user, whom only file modes keep out. */
export function ownUser(
  find: FindProgram,
  whyNotMore: string,
  nssWrapper = NSS_WRAPPERS.find((path) => existsSync(path)),
): Isolation {
  const setpriv = find('setpriv');
  return {
    kind: 'own-user',
    summary: `own user, network: host (no mount namespace: ${whyNotMore})`,
    warning: null,
    enclose: ({ file, args }, { user, account, shared }) => {
      const env = nssWrapper === undefined ? {} : namedBy(nssWrapper, account);
      if (shared.groups.length > 0 && user !== null) {
        if (setpriv === null) throw new Error('shared_dirs needs the program setpriv (util-linux)');
        // Whoever starts a process as another user takes away all groups, so the process does it itself.
        const become = [`--reuid=${user.uid}`, `--regid=${user.gid}`, ...supplementaryGroups(shared.groups)];
        const drop = ['--no-new-privs', '--bounding-set=-all', '--inh-caps=-all', '--'];
        return { file: setpriv, args: [...become, ...drop, file, ...args], becomesUser: true, env };
      }
      return {
        ...(setpriv === null
          ? { file, args }
          : // Set-user-id programs (sudo, su) then give it no other user's rights.
            { file: setpriv, args: ['--no-new-privs', '--', file, ...args] }),
        becomesUser: false,
        env,
      };
    },
  };
}

/** Without a mount namespace a library tells programs the name of their user: nss_wrapper, if it is installed. */
function namedBy(library: string, account: Account | null): Record<string, string> {
  if (!account?.files) return {};
  return {
    LD_PRELOAD: library,
    NSS_WRAPPER_PASSWD: account.files.passwd,
    NSS_WRAPPER_GROUP: account.files.group,
  };
}
