import { api, ask, type Schema } from '../client.ts';
import { newKey } from './session-calls.ts';

export type Job = Schema['Job'];
export type JobAction = Job['action'];
export type JobPreview = Schema['RequestedJob'];
export type JobFilter = Readonly<Record<string, string>>;

/** How many a job would concern, and the first ten of them. */
export const previewJob = (action: JobAction, filter: JobFilter): Promise<JobPreview> =>
  ask(api.POST('/v1/jobs', { body: { action, filter, dry_run: true } }));

export const startJob = (action: JobAction, filter: JobFilter, key = newKey()): Promise<JobPreview> =>
  ask(
    api.POST('/v1/jobs', {
      params: { header: { 'Idempotency-Key': key } },
      body: { action, filter, dry_run: false },
    }),
  );

export const getJob = (id: string): Promise<Job> =>
  ask(api.GET('/v1/jobs/{id}', { params: { path: { id } } }));

export const cancelJob = (id: string) => ask(api.POST('/v1/jobs/{id}/cancel', { params: { path: { id } } }));
