import type { Lists, LogStatus } from '@angelia/event-log';
import type { Logger } from '@angelia/service-kit';
import { pause } from '@angelia/waiting';
import type { DeliveryDispatcher } from './delivery-dispatcher.ts';
import type { StartTime } from './start-time.ts';

/** Postgres may start after the services do, and views may be behind. */
const RETRY_MS = 1_000;
const PAGE = 200;
/** More than one process can have in flight, and a bound on the cost of a start. The rest comes back at the claims' deadlines. */
const MAX_SESSIONS = 2_000;

export interface ResumeOptions {
  readonly lists: Pick<Lists, 'deliveries'>;
  readonly status: Pick<LogStatus, 'health'>;
  readonly startTime: Pick<StartTime, 'learn' | 'elapsedMs'>;
  readonly dispatcher: Pick<DeliveryDispatcher, 'handle'>;
  /** How long a claim holds: a delivery that changed longer before the start has no claim any more. */
  readonly claimMs: number;
  readonly logger: Logger;
  readonly draining: () => boolean;
}

/**
 * Runs after a start, and handles the deliveries that were in flight just before it. What a dead predecessor of our name had
 * claimed is then resent at once (abandoned-claim.ts), not when its claim runs out.
 *
 * The list comes from the views. If the predecessor led them, they stand still until another process leads. So this lists
 * again until the views show everything from before the start, or until every older claim has run out.
 */
export async function resumeAfterRestart(options: ResumeOptions): Promise<void> {
  const { startTime, claimMs, logger, draining } = options;
  const handled = new Set<string>();
  while (!draining()) {
    try {
      const changedSince = (await startTime.learn()) - claimMs;
      // Asked before the list, so that the list is at least as new as the answer.
      const isLast = startTime.elapsedMs > claimMs || (await viewsShowTheStart(options));
      const found = [...(await recentlyPending(options, changedSince))].filter((id) => !handled.has(id));
      for (const id of found) handled.add(id);
      await handleEach(found, options);
      if (isLast) return;
    } catch (error) {
      logger.debug({ err: error }, 'deliveries before the restart not listed yet; will retry');
    }
    await pause(RETRY_MS);
  }
}

/** Whether the oldest event that the views do not show is younger than this process. */
async function viewsShowTheStart({ startTime, status }: ResumeOptions): Promise<boolean> {
  const { elapsedMs } = startTime;
  return (await status.health()).projectionLagMs <= elapsedMs;
}

/** A session that fails does not hold up the others: it comes back when its claim runs out. */
async function handleEach(
  sessions: Iterable<string>,
  { dispatcher, logger, draining }: ResumeOptions,
): Promise<void> {
  for (const id of sessions) {
    if (draining()) return;
    try {
      await dispatcher.handle({ stream_id: id, version: 0 });
    } catch (error) {
      logger.warn(
        { err: error, session_id: id },
        'delivery before the restart not resumed; will be retried when its claim runs out',
      );
    }
  }
}

async function recentlyPending({ lists }: ResumeOptions, changedSince: number): Promise<Set<string>> {
  const found = new Set<string>();
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<Lists['deliveries']>> = await lists.deliveries({
      status: 'pending',
      limit: PAGE,
      ...(cursor === null ? {} : { cursor }),
    });
    // The list is newest change first.
    const recent = page.items.filter((item) => item.updatedAt >= changedSince);
    for (const item of recent) found.add(item.sessionId);
    cursor = recent.length < page.items.length ? null : page.nextCursor;
  } while (cursor !== null && found.size < MAX_SESSIONS);
  return found;
}
