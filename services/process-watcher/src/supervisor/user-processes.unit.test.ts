import { spawnSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { KILL_ALL } from './user-processes.ts';

const asRoot = process.getuid?.() === 0 ? it : it.skip;
/** With a `kill` that only prints: the test must be safe even if the guard is broken. */
const HARMLESS = `kill() { echo "kill $*"; }\n${KILL_ALL}`;
const UID = 700_000;

function run(asked: string, as: { uid?: number; gid?: number } = {}, before: readonly string[] = []) {
  const [file, ...args] = [...before, '/bin/sh', '-c', HARMLESS, 'angelia', asked];
  return spawnSync(file as string, args, { cwd: '/', encoding: 'utf8', ...as }).stdout;
}

describe('killing all processes of a user', () => {
  it.each(['', '0', '1', String(UID), 'x'])(
    'is refused to any process that is not user "%s" itself',
    (asked) => {
      expect(run(asked)).toBe('');
    },
  );

  // The kernel also checks the sender's real user: as root, the call would end everything on the host.
  asRoot('is refused to a process that is this user only by its effective id', () => {
    expect(run(String(UID), {}, ['setpriv', `--euid=${UID}`])).toBe('');
  });

  asRoot('is refused to a process that still has capabilities', () => {
    const kept = ['setpriv', `--reuid=${UID}`, '--inh-caps=+kill', '--ambient-caps=+kill'];
    expect(run(String(UID), {}, kept)).toBe('');
  });

  asRoot('is allowed to that user', () => {
    expect(run(String(UID), { uid: UID, gid: UID })).toBe('kill -KILL -1\n');
    expect(run(String(UID + 1), { uid: UID, gid: UID })).toBe('');
  });
});
