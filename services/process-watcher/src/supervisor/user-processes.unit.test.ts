import { spawnSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { KILL_ALL } from './user-processes.ts';

const asRoot = process.getuid?.() === 0 ? it : it.skip;
/** With a `kill` that only says so: this must be safe to run when the guard is broken. */
const HARMLESS = `kill() { echo "kill $*"; }\n${KILL_ALL}`;
const UID = 700_000;

function run(asked: string, as: { uid?: number; gid?: number } = {}, before: readonly string[] = []) {
  const [file, ...args] = [...before, '/bin/sh', '-c', HARMLESS, 'angelia', asked];
  return spawnSync(file as string, args, { cwd: '/', encoding: 'utf8', ...as }).stdout;
}

describe('the kill of all that a user runs', () => {
  it.each(['', '0', '1', String(UID), 'x'])('is refused to whoever is not user "%s" itself', (asked) => {
    expect(run(asked)).toBe('');
  });

  // The kernel takes the sender's real user as well: with root's, everything on the host would be ended.
  asRoot('is refused to one that is this user only in effect', () => {
    expect(run(String(UID), {}, ['setpriv', `--euid=${UID}`])).toBe('');
  });

  asRoot('is refused to one that still has capabilities', () => {
    const kept = ['setpriv', `--reuid=${UID}`, '--inh-caps=+kill', '--ambient-caps=+kill'];
    expect(run(String(UID), {}, kept)).toBe('');
  });

  asRoot('is done by that user', () => {
    expect(run(String(UID), { uid: UID, gid: UID })).toBe('kill -KILL -1\n');
    expect(run(String(UID + 1), { uid: UID, gid: UID })).toBe('');
  });
});
