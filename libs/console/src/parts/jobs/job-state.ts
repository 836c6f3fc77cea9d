/** What of a job tells how far it is. */
export interface HasProgress {
  readonly status: 'queued' | 'running' | 'cancelling' | 'cancelled' | 'finished';
  readonly matches: number;
  readonly matches_exact: boolean;
  readonly done: number;
  readonly skipped: number;
  readonly failed: number;
}

export const jobIsOver = ({ status }: Pick<HasProgress, 'status'>): boolean =>
  status === 'finished' || status === 'cancelled';

/** From 0 to 1; null: how many there are is not known. A job that is over is at its end, also if it had fewer to do. */
export function jobShare(job: HasProgress): number | null {
  if (job.status === 'finished') return 1;
  if (!job.matches_exact || job.matches === 0) return null;
  return Math.min(1, (job.done + job.skipped + job.failed) / job.matches);
}

/** `12 of 50: 10 done, 1 skipped, 1 failed` */
export function jobProgressText(job: HasProgress): string {
  const worked = job.done + job.skipped + job.failed;
  const all = job.matches_exact ? `${job.matches}` : `at least ${job.matches}`;
  const parts = [
    `${job.done} done`,
    ...(job.skipped > 0 ? [`${job.skipped} skipped`] : []),
    ...(job.failed > 0 ? [`${job.failed} failed`] : []),
  ];
  return `${worked} of ${all}: ${parts.join(', ')}`;
}
