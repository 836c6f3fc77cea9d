import { isSameProcess } from '../bootstrap/process-identity.mjs';
import { leftBehind, openChildBook } from './child-book.ts';
import type { Layout } from './layout.ts';
import { until } from './until.ts';

/**
 * Ends what a launcher that was killed left running, so that this one can start its own. The services may lose
 * work in progress to that no more than to a crash: the log has it, and the next runner goes on. Services first,
 * then what they talk to.
 */
export async function clearLeftBehind(layout: Layout, say: (line: string) => void): Promise<void> {
  const left = leftBehind(layout);
  const book = openChildBook(layout);
  if (left.length > 0) {
    say(`clearing what an earlier launcher left running: ${left.map(({ name }) => name).join(', ')}`);
  }
  const services = left.filter(({ name }) => name !== 'postgres' && name !== 'nats');
  // Short: nobody waits for these any more, and a run that is cut off is resumed.
  await Promise.all(services.map((one) => end(one, ['SIGTERM', 'SIGKILL'], 3_000)));
  const servers = left.filter(({ name }) => name === 'postgres' || name === 'nats');
  await Promise.all(
    servers.map((one) =>
      // SIGINT is Postgres' fast shutdown (with a checkpoint), SIGQUIT its immediate one; never SIGKILL.
      one.name === 'postgres'
        ? end(one, ['SIGINT', 'SIGQUIT'], 15_000)
        : end(one, ['SIGTERM', 'SIGKILL'], 5_000),
    ),
  );
  for (const { name } of left) book.strike(name);
}

async function end(
  { pid, identity }: { pid: number; identity: string },
  signals: NodeJS.Signals[],
  patienceMs: number,
): Promise<void> {
  for (const signal of signals) {
    if (!isSameProcess(pid, identity)) return;
    process.kill(pid, signal);
    if (await until(() => !isSameProcess(pid, identity), patienceMs)) return;
  }
}
