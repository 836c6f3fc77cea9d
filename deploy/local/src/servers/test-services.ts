import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lockOwner, tryLock } from '../../bootstrap/lock.mjs';
import { isSameProcess } from '../../bootstrap/process-identity.mjs';
import { type Layout, layoutOf, makeLayout } from '../data-directory/layout.ts';
import { stopLeftovers } from '../programs/stop-leftovers.ts';
import { startNats } from './nats.ts';
import { copyCluster, startPostgres } from './postgres.ts';

/** The directory of the test services of a run, and those of the stacks that its workers start (TestStack). */
const TEST_SERVICES = 'angelia-test-';
export const TEST_STACKS = 'angelia-e2e-';

interface TestServices {
  readonly postgresUrl: string;
  /** A data directory with a migrated cluster, from which whole stacks start (StackOptions). */
  readonly preparedCluster: string;
  readonly natsUrl: string;
  stop(): Promise<void>;
}

/**
 * Starts one Postgres and one NATS for a whole test run, in a temporary directory. Jest does not tear down when it is
 * interrupted or killed, so every run first ends what dead runs left behind.
 *
 * The cluster is made and migrated once, and copied while its Postgres is stopped. Whole stacks start from that copy.
 */
export async function startTestServices(
  migrate: (options: { url: string }) => Promise<unknown>,
): Promise<TestServices> {
  await sweepTestServices();
  const dataDir = await mkdtemp(join(tmpdir(), TEST_SERVICES));
  const layout = await makeLayout(dataDir);
  tryLock(lockOf(layout.dataDir));
  const stop = async () => {
    await stopLeftovers(layout, () => {});
    await rm(layout.dataDir, { recursive: true, force: true });
  };
  const say = (line: string) => process.stderr.write(`angelia: ${line}\n`);
  try {
    const prepared = await makeLayout(join(dataDir, 'prepared'));
    const starting = [startPrepared(layout, prepared, migrate), startNats({ dataDir, say })] as const;
    await Promise.allSettled(starting); // if one fails, the other must have started before it can be stopped
    const [postgres, nats] = await Promise.all(starting);
    return {
      postgresUrl: postgres.url,
      preparedCluster: prepared.dataDir,
      natsUrl: nats.url,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startPrepared(
  layout: Layout,
  prepared: Layout,
  migrate: (options: { url: string }) => Promise<unknown>,
): Promise<{ url: string }> {
  const options = { dataDir: layout.dataDir, durable: false };
  const { url, stop } = await startPostgres(options);
  await migrate({ url });
  await stop();
  await copyCluster(layout, prepared);
  return startPostgres(options);
}

/**
 * Ends the test services and stacks of runs that are dead, and removes their directories. Stacks come second: the workers of a
 * run that was killed just now end a moment later than the run.
 */
export async function sweepTestServices(): Promise<void> {
  for (const prefix of [TEST_SERVICES, TEST_STACKS]) await sweep(prefix);
}

async function sweep(prefix: string): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(prefix)) continue;
    const dir = join(tmpdir(), name);
    const owner = lockOwner(lockOf(dir));
    if (owner === null || isSameProcess(owner.pid, owner.identity)) continue;
    try {
      if ('heldBy' in tryLock(lockOf(dir))) continue; // another run is sweeping it
      await stopLeftovers(layoutOf(dir), () => {});
      await rm(dir, { recursive: true, force: true });
    } catch (error) {
      process.stderr.write(`angelia: ${dir} could not be cleared: ${error}\n`);
    }
  }
}

const lockOf = (dir: string): string => join(dir, 'run', 'launcher.lock');
