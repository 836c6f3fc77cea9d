import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { accountOf } from '../users/account-files.ts';
import { findProgramIn } from './find-program.ts';
import { NSS_WRAPPERS, ownUser } from './own-user.ts';

const find = findProgramIn(process.env.PATH ?? '');
const asRoot = process.getuid?.() === 0 && find('setpriv') !== null ? describe : describe.skip;
const user = { uid: 499_990, gid: 499_990 };

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'angelia-own-user-'));
  await chmod(directory, 0o755);
});
afterAll(() => rm(directory, { recursive: true }));

function run(script: string, groups: readonly number[]): string {
  const { file, args, becomesUser, env } = ownUser(find, 'a test').enclose(
    { file: '/bin/sh', args: ['-c', script] },
    {
      work: directory,
      user,
      account: accountOf(user, directory, directory),
      shared: { paths: [], groups },
      joinErrors: true,
    },
  );
  const ran = spawnSync(file, args, {
    env: { PATH: process.env.PATH ?? '', ...env },
    encoding: 'utf8',
    ...(becomesUser ? {} : user),
  });
  return `${ran.stdout}${ran.stderr}`.trim();
}

asRoot('a command of root that may not mount', () => {
  const state = "id -u; id -G; grep -E '^(CapPrm|CapEff|NoNewPrivs):' /proc/self/status | cut -f2";
  const nothing = '0000000000000000';

  it('runs as the session’s user, without any right of root', () => {
    expect(run(state, []).split('\n')).toEqual(['499990', '499990', nothing, nothing, '1']);
  });

  it('has the groups of shared directories, and no more rights for it', () => {
    expect(run(state, [54_321, 54_322]).split('\n')).toEqual([
      '499990',
      '499990 54321 54322',
      nothing,
      nothing,
      '1',
    ]);
  });

  // libnss-wrapper is in the image, and need not be on this host.
  (NSS_WRAPPERS.some((path) => existsSync(path)) ? it : it.skip)('knows the name of its user', () => {
    expect(run('id -un', [])).toBe('agent');
  });
});
