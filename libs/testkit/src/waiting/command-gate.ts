import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Gate {
  /** For a shell: waits until the gate is open. Without polling, so that many may wait at once; whoever comes later goes on. */
  readonly wait: string;
  open(): Promise<void>;
}

/**
 * Keeps a command from going on before the test says so. A lock on a file below `directory`, which the test removes in the
 * end, and which commands of any user can enter.
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
    ended.then(() => Promise.reject(new Error('flock (util-linux) is needed'))),
  ]);
  return {
    wait: `flock -s ${file} true`,
    async open() {
      holder.stdin.end();
      await ended;
    },
  };
}
