import type { JobAction, JobEventData, JobFact, RecordedEvent } from '@angelia/contracts';
import type { JobFilter } from './filter.ts';

/**
 * What a job's events amount to.
 *
 *   (nothing) --job.requested--> queued --job.progressed--> running --job.progressed--> running ... --job.finished--> finished
 *   queued | running --job.cancel-requested--> cancelling --job.cancelled--> cancelled
 *
 * The leader appends `job.progressed` before each batch, with the batch and with the counts of everything before it. So
 * the last such event says what may have been under way when a leader died, and that batch is repeated by name.
 */
export interface Job {
  readonly id: string;
  readonly version: number;
  readonly status: 'queued' | 'running' | 'cancelling' | 'cancelled' | 'finished';
  readonly action: JobAction;
  readonly filter: JobFilter;
  readonly before: number;
  readonly matches: number;
  readonly matchesExact: boolean;
  readonly requestedAt: number;
  readonly requestedBy: string;
  readonly startedAt: number | null;
  readonly updatedAt: number;
  readonly endedAt: number | null;
  readonly progress: Progress;
  /** What is under way. */
  readonly batch: readonly string[];
  /** Where to look for more. Undefined: it has not begun. Null: nowhere. */
  readonly cursor: string | null | undefined;
}

export type Progress = Pick<
  JobEventData<'job.progressed'>,
  'done' | 'skipped' | 'failed' | 'skips' | 'failures'
>;

export const NO_PROGRESS: Progress = { done: 0, skipped: 0, failed: 0, skips: {}, failures: [] };

/** More would make every event of a job that fails throughout long, and tell nobody more. */
const MOST_FAILURES = 20;

export type ItemResult =
  | { readonly outcome: 'done' }
  | { readonly outcome: 'skipped'; readonly reason: string }
  | { readonly outcome: 'failed'; readonly reason: string };

/** `events` may leave out what is between the first two and the last two: counts are those since the beginning. */
export function foldJob(id: string, events: readonly RecordedEvent[]): Job | null {
  let job: Job | null = null;
  for (const event of events) job = evolve(id, job, event);
  return job;
}

function evolve(id: string, job: Job | null, event: RecordedEvent): Job | null {
  const fact = event as RecordedEvent & JobFact;
  const at = event.recordedAt;
  if (fact.type === 'job.requested') {
    const { action, filter, before, matches, matches_exact } = fact.data;
    return {
      id,
      version: event.version,
      status: 'queued',
      action,
      filter: filter as JobFilter,
      before: Date.parse(before),
      matches,
      matchesExact: matches_exact,
      requestedAt: at,
      requestedBy: event.meta.actor,
      startedAt: null,
      updatedAt: at,
      endedAt: null,
      progress: NO_PROGRESS,
      batch: [],
      cursor: undefined,
    };
  }
  if (job === null) return null;
  const next = { ...job, version: event.version, updatedAt: at };
  switch (fact.type) {
    case 'job.progressed': {
      const { batch, cursor, ...progress } = fact.data;
      return { ...next, status: 'running', startedAt: job.startedAt ?? at, progress, batch, cursor };
    }
    case 'job.cancel-requested':
      return { ...next, status: 'cancelling' };
    case 'job.cancelled':
      return { ...next, status: 'cancelled', endedAt: at, progress: fact.data, batch: [] };
    case 'job.finished':
      return { ...next, status: 'finished', endedAt: at, progress: fact.data, batch: [] };
    default:
      return next;
  }
}

export function isOpen({ status }: Job): boolean {
  return status !== 'finished' && status !== 'cancelled';
}

export function withResult(progress: Progress, item: string, result: ItemResult): Progress {
  switch (result.outcome) {
    case 'done':
      return { ...progress, done: progress.done + 1 };
    case 'skipped':
      return {
        ...progress,
        skipped: progress.skipped + 1,
        skips: { ...progress.skips, [result.reason]: (progress.skips[result.reason] ?? 0) + 1 },
      };
    case 'failed':
      return {
        ...progress,
        failed: progress.failed + 1,
        failures:
          progress.failures.length < MOST_FAILURES
            ? [...progress.failures, { id: item, reason: result.reason }]
            : progress.failures,
      };
  }
}
