import { useQuery } from '@tanstack/react-query';
import { cancelJob, getJob, type Job } from '../../api/calls/job-calls.ts';
import { Button } from '../controls/button.tsx';
import { CopyButton } from '../controls/copy-button.tsx';
import { Dialog } from '../dialog/dialog.tsx';
import { Badge, type Tone } from '../feedback/badge.tsx';
import { Failed, Loading } from '../feedback/states.tsx';
import { tellFailure } from '../feedback/toasts.tsx';
import { Untrusted } from '../text/text.tsx';
import { Time } from '../time/time.tsx';
import { jobIsOver, jobProgressText, jobShare } from './job-state.ts';
import { ScrollList } from './scroll-list.tsx';

/** A job works for seconds to minutes, and writes its progress once per batch. */
const POLL_MS = 500;

const TONES: Readonly<Record<Job['status'], Tone>> = {
  queued: 'calm',
  running: 'busy',
  cancelling: 'wait',
  cancelled: 'calm',
  finished: 'ok',
};

/** The progress and the result of a job. Closing it stops nothing. */
export function JobDialog({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const job = useQuery({
    queryKey: ['jobs', id],
    queryFn: () => getJob(id),
    refetchInterval: ({ state }) => (state.data !== undefined && jobIsOver(state.data) ? false : POLL_MS),
  });
  const over = job.data !== undefined && jobIsOver(job.data);
  return (
    <Dialog
      title="Job"
      onClose={onClose}
      wide
      actions={
        <>
          {job.data !== undefined && !over && (
            <Button
              disabled={job.data.status === 'cancelling'}
              onClick={() =>
                void cancelJob(id)
                  .then(() => job.refetch())
                  .catch(tellFailure)
              }
            >
              Stop the job
            </Button>
          )}
          <Button kind="main" onClick={onClose}>
            {over ? 'Done' : 'Close; it continues'}
          </Button>
        </>
      }
    >
      {job.isPending && <Loading what="the job" />}
      {job.isError && <Failed error={job.error} retry={() => void job.refetch()} />}
      {job.data !== undefined && <Progress job={job.data} />}
    </Dialog>
  );
}

function Progress({ job }: { readonly job: Job }) {
  const share = jobShare(job);
  const skips = Object.entries(job.skips);
  return (
    <>
      <div className="job-head">
        <Badge tone={TONES[job.status]}>{job.status}</Badge>
        <strong>{job.action}</strong>
        <span className="mono cut">{job.job_id}</span>
        <CopyButton text={job.job_id} of="the id of the job" />
      </div>
      <progress aria-label="Progress of the job" max={1} {...(share === null ? {} : { value: share })} />
      <p role="status">{jobProgressText(job)}</p>
      <p className="muted">
        Requested by <Untrusted text={job.requested_by} /> <Time at={job.requested_at} />
      </p>
      {skips.length > 0 && (
        <section>
          <h3>Skipped</h3>
          <ScrollList label="Skipped">
            {skips.map(([reason, count]) => (
              <li key={reason}>
                {count} × <Untrusted text={reason} />
              </li>
            ))}
          </ScrollList>
        </section>
      )}
      {job.failures.length > 0 && (
        <section>
          <h3>Failed{job.failed > job.failures.length && `, the first ${job.failures.length}`}</h3>
          <ScrollList label="Failed">
            {job.failures.map(({ id, reason }) => (
              <li key={id}>
                <span className="mono">{id}</span>: <Untrusted text={reason} />
              </li>
            ))}
          </ScrollList>
        </section>
      )}
    </>
  );
}
