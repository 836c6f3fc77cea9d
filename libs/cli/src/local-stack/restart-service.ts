import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LocalProgram } from '@angelia/doctor/local-stack';
import { pause } from '@angelia/waiting';
import { CliError, EXIT } from '../exit.ts';
import { readIfThere } from './files.ts';

const LOOK_MS = 100;
const READY_TIMEOUT_MS = 2_000;

/**
 * Ends a service as a drain does (SIGTERM), and waits until the launcher has started it again and it is ready. The
 * launcher restarts whatever ends, so there is nothing to tell it.
 */
export async function restartService(
  dataDir: string,
  { name, adminPort }: LocalProgram,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<{ readonly service: string; readonly pid: number; readonly seconds: number }> {
  const startedAt = performance.now();
  const pidFile = join(dataDir, 'run', `${name}.pid`);
  const before = pidIn(pidFile);
  // A pid is reused after a while: what a killed launcher left in its files may name a stranger's process.
  if (before === null || !isService(before, name)) {
    throw new CliError(
      EXIT.notFound,
      `${name} is not running, or its launcher is not`,
      `start the stack with \`npm start\`; logs/${name}.log says why a service ended`,
    );
  }
  process.kill(before, 'SIGTERM');
  while (performance.now() - startedAt < timeoutMs) {
    signal.throwIfAborted();
    const pid = pidIn(pidFile);
    if (pid !== null && pid !== before && (await isReady(adminPort))) {
      return { service: name, pid, seconds: (performance.now() - startedAt) / 1000 };
    }
    await pause(LOOK_MS, signal);
  }
  throw new CliError(
    EXIT.timedOut,
    `${name} is not ready after ${timeoutMs / 1000} s`,
    `\`angelia doctor\` and logs/${name}.log in ${dataDir} say why`,
  );
}

function pidIn(path: string): number | null {
  const pid = Number(readIfThere(path));
  return Number.isInteger(pid) && pid > 0 ? pid : null;
}

function isService(pid: number, name: string): boolean {
  const program = `${name.replace(/-\d+$/, '')}.js`;
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(program);
  } catch {
    // Without /proc (not Linux) we only know whether it exists.
    return process.platform !== 'linux' && isAlive(pid);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function isReady(adminPort: number | undefined): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${adminPort}/readyz`, {
      signal: AbortSignal.timeout(READY_TIMEOUT_MS),
    });
    await response.body?.cancel();
    return response.status === 200;
  } catch {
    return false;
  }
}
