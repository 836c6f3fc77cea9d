import { z } from 'zod';

/**
 * Jobs: one action on everything that a filter finds. Each has its own stream `job-<uuid>`. The stream id is not a uuid, so
 * the views of sessions skip it. The uuid is v7, so that streams are in the order of their requests.
 */
const PREFIX = 'job-';

export function jobStreamId(id: string): string {
  return `${PREFIX}${id}`;
}

export function jobIdOf(streamId: string): string {
  return streamId.slice(PREFIX.length);
}

/** All names of streams of jobs are from the first to before the second. `.` is the character after `-`. */
export const JOB_STREAMS = ['job-', 'job.'] as const;

/** Core NATS: sent after a request, so that the leader begins at once. If it is lost, a poll finds the job. */
export const JOBS_PING_SUBJECT = 'angelia.jobs';

export const jobActions = ['resume', 'cancel', 'retry-deliveries', 'replay-dead-letters', 'erase'] as const;
export type JobAction = (typeof jobActions)[number];

const count = z.number().int().nonnegative();

/** How far it came. All of it counts from the beginning of the job. */
const progress = {
  done: count,
  /** Nothing had to be done any more, or nothing could be done: it had ended, it was gone. */
  skipped: count,
  failed: count,
  /** Reason -> how many. */
  skips: z.record(z.string(), count),
  /** The first ones. */
  failures: z.array(z.object({ id: z.string(), reason: z.string() })),
};

const jobRequested = z.object({
  action: z.enum(jobActions),
  /** As `libs/jobs` reads it: times are absolute, and a text is what it meant when the job was requested. */
  filter: z.record(z.string(), z.unknown()),
  /** The job leaves out what was created or changed after this time. */
  before: z.iso.datetime(),
  /** How many there were. */
  matches: count,
  /** False: at least so many. */
  matches_exact: z.boolean(),
});

const jobProgressed = z.object({
  ...progress,
  /** What is done next, by id. After a crash it is done again: each item has its effect once. */
  batch: z.array(z.string()),
  /** Where to look for more after the batch. Null: nowhere. */
  cursor: z.string().nullable(),
});

const jobCancelRequested = z.object({ by: z.string() });
const jobCancelled = z.object(progress);
const jobFinished = z.object(progress);

/** These streams hold no events of sessions. */
export const jobEventSchemas = {
  'job.requested': jobRequested,
  'job.progressed': jobProgressed,
  'job.cancel-requested': jobCancelRequested,
  'job.cancelled': jobCancelled,
  'job.finished': jobFinished,
} as const;

export type JobEventType = keyof typeof jobEventSchemas;
export type JobEventData<T extends JobEventType> = z.infer<(typeof jobEventSchemas)[T]>;
export type JobFact = {
  [T in JobEventType]: { readonly type: T; readonly data: JobEventData<T> };
}[JobEventType];
