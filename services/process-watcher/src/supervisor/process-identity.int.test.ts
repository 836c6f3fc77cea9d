import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { processesWithMark } from './process-identity.ts';
import { MARK_VARIABLE } from './protocol.ts';

const onLinux = existsSync('/proc/self/environ') ? it : it.skip;

onLinux(
  'a process that is just becoming another program is still known as the command that started it',
  async () => {
    const mark = 'a-command-that-execs';
    // Every program becomes the next one, for as long as it is looked at.
    const command = spawn('/bin/sh', ['-c', 'exec /bin/sh -c "$0" "$0"', 'exec /bin/sh -c "$0" "$0"'], {
      env: { PATH: process.env.PATH, [MARK_VARIABLE]: mark },
      stdio: 'ignore',
    });
    try {
      await once(command, 'spawn');
      // Three in a hundred find it between two programs, more of them on a busy machine.
      const looks = Array.from({ length: 300 }, () => processesWithMark(mark, process.getuid?.()));
      expect(looks.filter((found) => !found.includes(command.pid ?? 0))).toEqual([]);
    } finally {
      command.kill('SIGKILL');
      await once(command, 'exit');
    }
  },
);
