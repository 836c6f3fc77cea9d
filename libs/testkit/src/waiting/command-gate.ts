import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

interface Gate {
  /** A shell command that waits until the gate is open. It does not poll, so many can wait at once. Later ones pass. */
  readonly wait: string;
  open(): Promise<void>;
}

/**
 * Holds commands back until the test opens the gate. It is a lock on a file below `directory`. Commands of any user must be
 * able to enter that directory, and the test removes it at the end.
 */
export async function closedGate(directory: string): Promise<Gate> {
  const own = await mkdtemp(join(directory, 'gate-'));
  await chmod(own, 0o755);
  const file = join(own, 'lock');
  await writeFile(file, '', { mode: 0o644 });
  const holder = spawn('flock', [file, 'sh', '-c', 'echo closed; cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(holder, 'exit');
  await Promise.race([
    once(holder.stdout, 'data'),
    ended.then(() => Promise.reject(new Error('flock is missing: install util-linux'))),
  ]);
  return {
    wait: `flock -s ${file} true`,
    async open() {
      holder.stdin.end();
      await ended;
    },
  };
}
