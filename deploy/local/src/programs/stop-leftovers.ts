import { isSameProcess } from '../../bootstrap/process-identity.mjs';
import type { Layout } from '../data-directory/layout.ts';
import { waitUntil } from '../wait-until.ts';
import { leftRunning, openRunningPrograms } from './running-programs.ts';

/**
 * Ends the programs of a launcher that was killed, so that this one can start its own. For the services this is like a
 * crash: the log has all work in progress, and the next runner continues. Ends services first, then their servers.
 */
export async function stopLeftovers(layout: Layout, say: (line: string) => void): Promise<void> {
  const left = leftRunning(layout);
  const running = openRunningPrograms(layout);
  if (left.length > 0) {
    say(`stopping what an earlier launcher left running: ${left.map(({ name }) => name).join(', ')}`);
  }
  const services = left.filter(({ name }) => name !== 'postgres' && name !== 'nats');
  // A short wait: nobody needs these any more, and an interrupted run is resumed.
  await Promise.all(services.map((one) => end(one, ['SIGTERM', 'SIGKILL'], 3_000)));
  const servers = left.filter(({ name }) => name === 'postgres' || name === 'nats');
  await Promise.all(
    servers.map((one) =>
      // SIGINT is Postgres' fast shutdown (with a checkpoint), SIGQUIT its immediate one. Never use SIGKILL.
      one.name === 'postgres'
        ? end(one, ['SIGINT', 'SIGQUIT'], 15_000)
        : end(one, ['SIGTERM', 'SIGKILL'], 5_000),
    ),
  );
  for (const { name } of left) running.remove(name);
}

async function end(
  { pid, identity }: { pid: number; identity: string },
  signals: NodeJS.Signals[],
  waitMs: number,
): Promise<void> {
  for (const signal of signals) {
    if (!isSameProcess(pid, identity)) return;
    process.kill(pid, signal);
    if (await waitUntil(() => !isSameProcess(pid, identity), waitMs)) return;
  }
}
