import { setTimeout as pause } from 'node:timers/promises';
import type { EventLog, Lists } from '@angelia/event-log';
import type { Logger } from '@angelia/service-kit';
import type { Deliveries } from './delivery-dispatcher.ts';
import type { StartTime } from './start-time.ts';

/** Postgres may start after the services do. */
const TRY_AGAIN_MS = 1_000;
const PAGE = 200;
/** More than one process can have had under way, and a bound on what a start costs; the rest comes by its deadlines. */
const MAX_LOOKS = 2_000;

export interface LookBackOptions {
  readonly log: Pick<EventLog, 'now'> & { readonly lists: Pick<Lists, 'deliveries'> };
  readonly startTime: StartTime;
  readonly deliveries: Pick<Deliveries, 'look'>;
  /** What changed longer before the start cannot be within a claim's deadline any more. */
  readonly claimMs: number;
  readonly logger: Logger;
  readonly draining: () => boolean;
}

/**
 * After a start: looks at the deliveries that were under way a moment ago. What a dead predecessor of our name had
 * claimed is then resent at once (orphaned-claim.ts), instead of when its claim runs out.
 */
export async function lookBack(options: LookBackOptions): Promise<void> {
  const { log, startTime, claimMs, logger, draining } = options;
  while (!draining()) {
    try {
      const changedSince = (await startTime.learn(log)) - claimMs;
      await lookAtEach(await recentlyPending(options, changedSince), options);
      return;
    } catch (error) {
      logger.debug({ err: error }, 'deliveries under way before the start could not be looked at yet');
      await pause(TRY_AGAIN_MS, undefined, { ref: false });
    }
  }
}

/** One that cannot be looked at does not hold up those behind it: it comes again when its claim runs out. */
async function lookAtEach(
  sessions: Iterable<string>,
  { deliveries, logger, draining }: LookBackOptions,
): Promise<void> {
  for (const id of sessions) {
    if (draining()) return;
    try {
      await deliveries.look({ stream_id: id, version: 0 });
    } catch (error) {
      logger.warn(
        { err: error, session_id: id },
        'a delivery under way before the start could not be looked at: it is when its claim runs out',
      );
    }
  }
}

async function recentlyPending({ log }: LookBackOptions, changedSince: number): Promise<Set<string>> {
  const found = new Set<string>();
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<Lists['deliveries']>> = await log.lists.deliveries({
      status: 'pending',
      limit: PAGE,
      ...(cursor === null ? {} : { cursor }),
    });
    // The last changed come first.
    const recent = page.items.filter((item) => item.updatedAt >= changedSince);
    for (const item of recent) found.add(item.sessionId);
    cursor = recent.length < page.items.length ? null : page.nextCursor;
  } while (cursor !== null && found.size < MAX_LOOKS);
  return found;
}
