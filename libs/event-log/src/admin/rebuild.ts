import { pause } from '@angelia/waiting';
import pg from 'pg';
import type { Logger } from '../connection/logger.ts';
import { VIEWS_VERSION } from '../connection/schema.ts';
import { LogRefused } from '../errors.ts';
import { type EventLog, openEventLog } from '../event-log.ts';
import { TAIL_START } from '../tail/tail.ts';
import { PageProjector } from '../views/page-projector.ts';
import { PAGE } from '../views/projection.ts';
import type { ProjectSession } from '../views/session-views.ts';
import { asMigrator, inTransaction } from './migrate.ts';
import { activeBuild, createBuild, dropBuild, switchTo, unfinishedBuilds } from './view-builds.ts';

interface RebuildOptions {
  readonly url: string;
  readonly project: ProjectSession;
  readonly logger?: Logger;
  /** After it, the rebuild stops and throws. What it left is dropped by the next one. */
  readonly signal?: AbortSignal;
  /** The share of the time in which it works; 1 if left out. Less for a process that has other work to do. */
  readonly share?: number;
}

export interface RebuildResult {
  readonly build: number;
  readonly events: number;
}

/** Any number that nobody else locks in this database. Two rebuilds at once would drop each other's work. */
export const REBUILD_LOCK = '6223372036854002';
/** The rebuild's writes carry epoch 0, so that any leader can claim the new build's checkpoint. */
const REBUILD_EPOCH = 0;

/**
 * Fills a new build from the whole log beside the active one, catches up, then switches in one transaction. Services may
 * run: readers see the old views until the switch, then the live projector follows. Safe to kill at any time.
 */
export async function rebuildViews(options: RebuildOptions): Promise<RebuildResult> {
  const lock = await takeLock(options.url);
  if (lock === null) throw new LogRefused('another rebuild of the views is running: wait until it ends');
  const log = openEventLog({
    url: options.url,
    instance: 'angelia-rebuild',
    holder: `angelia-rebuild#${process.pid}`,
    ...(options.logger ? { logger: options.logger } : {}),
  });
  try {
    const build = await prepare(options.url);
    const events = await fill(log, build, options);
    await asMigrator(options.url, async (client) => {
      const old = await activeBuild(client);
      await inTransaction(client, () => switchTo(client, build));
      if (old !== undefined) await inTransaction(client, () => dropBuild(client, old.build));
    });
    return { build, events };
  } finally {
    await log.close();
    await lock.end();
  }
}

/**
 * Drops the builds that killed rebuilds left behind, unless a rebuild is running. Nothing can be pruned beside an
 * unfinished build, and nobody may ever rebuild again.
 */
export async function clearAbandonedBuilds(url: string): Promise<void> {
  const lock = await takeLock(url);
  if (lock === null) return;
  try {
    await asMigrator(url, dropUnfinished);
  } finally {
    await lock.end();
  }
}

/** The connection holds the lock. Null: somebody else has it. */
async function takeLock(url: string): Promise<pg.Client | null> {
  const lock = new pg.Client({ connectionString: url, application_name: 'angelia-rebuild' });
  lock.on('error', () => {}); // If it is lost, only a second rebuild notices, and replaces the work of this one.
  await lock.connect();
  const { rows } = await lock.query<{ locked: boolean }>(
    `SELECT pg_try_advisory_lock(${REBUILD_LOCK}) AS locked`,
  );
  if (rows[0]?.locked) return lock;
  await lock.end();
  return null;
}

async function prepare(url: string): Promise<number> {
  return asMigrator(url, async (client) => {
    await dropUnfinished(client);
    return inTransaction(client, () => createBuild(client));
  });
}

/** Under the lock, so that nobody works on them. */
async function dropUnfinished(client: pg.Client): Promise<void> {
  for (const build of await unfinishedBuilds(client))
    await inTransaction(client, () => dropBuild(client, build));
}

async function fill(
  log: EventLog,
  build: number,
  { project, signal, share = 1 }: RebuildOptions,
): Promise<number> {
  const fence = { build, version: VIEWS_VERSION, leadEpoch: REBUILD_EPOCH, whileActive: false };
  const projector = new PageProjector(log.database.relaxed, fence, project);
  let cursor = TAIL_START;
  for (let events = 0; ; ) {
    signal?.throwIfAborted();
    const startedAt = performance.now();
    const page = await log.tail.read(cursor, PAGE, { data: true });
    if (page.events.length > 0 && !(await projector.apply(page))) {
      throw new LogRefused('the new build of the views was dropped while it was filled: rebuild again');
    }
    events += page.events.length;
    cursor = page.next;
    if (page.events.length < PAGE) return events;
    if (share < 1) await pause((performance.now() - startedAt) * (1 / share - 1), signal);
  }
}
