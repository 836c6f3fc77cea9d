import { pause } from '@angelia/waiting';
import type { Job, RequestedJob } from '../api/types.ts';
import type { Context } from '../command-line/command.ts';
import { EXIT } from '../exit.ts';

/** A batch of 25 takes a quarter of a second. A person reads the counts. */
const LOOK_MS = 500;
/** To the beginning of the line, and clear the rest of it. */
const CLEAR_LINE = '\r\u001b[K';

/**
 * Shows the progress of a job until it is over: on a terminal as one line that changes. The answer is the job. The job does
 * not need us: Ctrl-C leaves it alone.
 */
export async function followJob(context: Context, id: string): Promise<number> {
  const { api, out, runtime } = context;
  const client = api();
  const showsProgress = !out.json && out.isTerminal;
  try {
    for (;;) {
      const job = await client.get<Job>(`/v1/jobs/${encodeURIComponent(id)}`);
      if (job.status === 'finished' || job.status === 'cancelled') {
        if (showsProgress) out.raw(CLEAR_LINE);
        out.answer(job, () => `job ${id} is ${job.status}: ${resultText(job)}`);
        if (job.failed > 0) out.note(`why: angelia jobs show ${id}`);
        return job.failed > 0 || job.status === 'cancelled' ? EXIT.failed : EXIT.ok;
      }
      if (showsProgress) out.raw(`${CLEAR_LINE}${job.status}: ${resultText(job)}, of ${countText(job)}`);
      await pause(LOOK_MS, runtime.signal);
    }
  } catch (error) {
    if (showsProgress) out.raw('\n');
    if (runtime.signal.aborted) out.note(`the job continues. To stop it: angelia jobs cancel ${id}`);
    throw error;
  }
}

/** `120 done, 3 skipped (continued_before 3), 0 failed` */
export function resultText({ done, skipped, failed, skips }: Job): string {
  const reasons = Object.entries(skips).map(([reason, count]) => `${reason} ${count}`);
  const why = reasons.length === 0 ? '' : ` (${reasons.join(', ')})`;
  return `${done} done, ${skipped} skipped${why}, ${failed} failed`;
}

export function countText({ matches, matches_exact: exact }: RequestedJob | Job): string {
  return exact ? String(matches) : `at least ${matches}`;
}
