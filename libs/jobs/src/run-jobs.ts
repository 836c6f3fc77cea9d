import { isRetryable, type JobFact } from '@angelia/contracts';
import type { EventLog } from '@angelia/event-log';
import { pause, type WakeUp } from '@angelia/waiting';
import type { Action, Selected, Tools, Work } from './actions/action.ts';
import { actions } from './actions/all-actions.ts';
import { type ItemResult, isOpen, type Job, type Progress, withResult } from './job.ts';
import { Jobs } from './jobs.ts';

interface RunJobsOptions extends Tools {
  /** The caller wakes it when a job is requested. */
  readonly wake: WakeUp;
  readonly signal: AbortSignal;
  /** For tests. */
  readonly itemsPerSecond?: number;
}

/**
 * A tenth of what one machine with two cores does at full load, so that 100,000 items take a quarter of an hour and leave
 * the rest to live work.
 */
const ITEMS_PER_SECOND = 100;
/** What a cancelled job still does, and what is repeated after a crash. */
const BATCH = 25;
/**
 * Sessions that wait for a runner, or deliveries that are due. A job that fills such a queue adds a batch only while there are
 * fewer: else 100,000 resumed sessions would stand before the next webhook of their route.
 */
const MOST_WAITING = 25;
const WAIT_FOR_QUEUE_MS = 500;
/** A request wakes it. This is for a ping that got lost, and at rest every statement counts. */
const POLL_MS = 10_000;
const FIRST_BACKOFF_MS = 100;
const LAST_BACKOFF_MS = 5_000;

/**
 * Carries out jobs, one after the other, while this process leads. It may be killed at any point: the next leader repeats the
 * batch that was under way, and each item has its effect once. An outage only delays it.
 */
export async function runJobs(options: RunJobsOptions): Promise<void> {
  const { log, bus, signal, wake } = options;
  const jobs = new Jobs(log, bus);
  let backoff = 0;
  while (!signal.aborted) {
    try {
      const [job] = await jobs.open();
      if (job === undefined) await wake.wait(POLL_MS, signal);
      else await runJob(job, jobs, options);
      backoff = 0;
    } catch (error) {
      if (backoff === 0) log.logger.warn({ err: String(error) }, 'jobs failed; will try again');
      backoff = Math.min(Math.max(FIRST_BACKOFF_MS, backoff * 2), LAST_BACKOFF_MS);
      await pause(backoff, signal);
    }
  }
}

async function runJob(found: Job, jobs: Jobs, options: RunJobsOptions): Promise<void> {
  let job: Job | null = found;
  while (job !== null && isOpen(job)) {
    const progress = await performBatch(job, options);
    if (progress === null) return;
    const fact = await nextFact(job, progress, jobs, options);
    if (options.signal.aborted) return;
    job = await record(job, fact, jobs, options.log);
  }
}

async function nextFact(job: Job, progress: Progress, jobs: Jobs, options: RunJobsOptions): Promise<JobFact> {
  if (job.status === 'cancelling') return { type: 'job.cancelled', data: progress };
  const { ids, next } = await nextBatch(job, jobs, options);
  if (ids.length === 0) return { type: 'job.finished', data: progress };
  return { type: 'job.progressed', data: { ...progress, batch: [...ids], cursor: next } };
}

/** Returns the job after it. Null: another process leads, and goes on. */
async function record(job: Job, fact: JobFact, jobs: Jobs, log: EventLog): Promise<Job | null> {
  const result = await jobs.append(job, fact, { actor: log.instance });
  const after = await jobs.load(job.id);
  if (result.status === 'appended') return after;
  // The batch is done, whatever was asked for meanwhile.
  const onlyCancelled = after?.status === 'cancelling' && after.version === job.version + 1;
  return onlyCancelled && 'done' in fact.data
    ? { ...after, batch: [], progress: progressOf(fact.data) }
    : null;
}

/** Null: the signal was aborted before the end. */
async function performBatch(job: Job, options: RunJobsOptions): Promise<Progress | null> {
  const { signal, itemsPerSecond = ITEMS_PER_SECOND } = options;
  const work: Work = { ...options, jobId: job.id, actor: job.requestedBy };
  let { progress } = job;
  for (const item of job.batch) {
    const startedAt = performance.now();
    const result = await performItem(item, actions[job.action], work, signal);
    if (result === null) return null;
    progress = withResult(progress, item, result);
    await pause(Math.max(0, startedAt + 1_000 / itemsPerSecond - performance.now()), signal);
  }
  return progress;
}

/** An outage is a wait. Anything else that it throws concerns this item only. Null: the signal was aborted. */
async function performItem(
  item: string,
  action: Action,
  work: Work,
  signal: AbortSignal,
): Promise<ItemResult | null> {
  for (let backoff = FIRST_BACKOFF_MS; !signal.aborted; ) {
    try {
      return await action.perform(item, work);
    } catch (error) {
      if (!isRetryable(error)) {
        work.log.logger.warn({ err: String(error), job: work.jobId, item }, 'an item of a job failed');
        return { outcome: 'failed', reason: error instanceof Error ? error.message : String(error) };
      }
      await pause(backoff, signal);
      backoff = Math.min(backoff * 2, LAST_BACKOFF_MS);
    }
  }
  return null;
}

/** Waits while the queue that it fills is full enough. No ids: there are no more, or the job was changed meanwhile. */
async function nextBatch(job: Job, jobs: Jobs, { log, signal, wake }: RunJobsOptions): Promise<Selected> {
  const { fills, select } = actions[job.action];
  if (job.cursor === null) return NO_MORE;
  while (fills !== null && (await log.queue.due(fills, MOST_WAITING)) >= MOST_WAITING) {
    await wake.wait(WAIT_FOR_QUEUE_MS, signal);
    if (signal.aborted || (await jobs.load(job.id))?.version !== job.version) return NO_MORE;
  }
  return select(log, job, job.cursor ?? null, BATCH);
}

const NO_MORE: Selected = { ids: [], next: null };

function progressOf({ done, skipped, failed, skips, failures }: Progress): Progress {
  return { done, skipped, failed, skips, failures };
}
