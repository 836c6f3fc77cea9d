export { cancelSession } from './actions/cancel.ts';
export { eraseSettled, NotCaughtUp } from './actions/erase.ts';
export { replayDeadLetter } from './actions/replay-dead-letters.ts';
export { resumeSession } from './actions/resume.ts';
export { retryDelivery } from './actions/retry-deliveries.ts';
export type { JobFilter } from './filter.ts';
export { isOpen, type Job } from './job.ts';
export { Jobs, type Preview } from './jobs.ts';
export { runJobs } from './run-jobs.ts';
