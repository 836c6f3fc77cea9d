import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { messageOf } from '../../../api/api-error.ts';
import { newKey } from '../../../api/calls/session-calls.ts';
import { api, ask } from '../../../api/client.ts';
import { Button } from '../../../parts/controls/button.tsx';
import { Dialog } from '../../../parts/dialog/dialog.tsx';
import { Failed, Loading } from '../../../parts/feedback/states.tsx';
import { tellFailure } from '../../../parts/feedback/toasts.tsx';
import { countText, visibleText } from '../../../parts/text/visible-text.ts';
import type { SessionFilters } from '../filters/session-filters.ts';
import { BULK_ACTIONS, type BulkAction } from './bulk-action.ts';
import { Failures, Sure } from './bulk-parts.tsx';

interface Props {
  readonly action: BulkAction;
  readonly filters: SessionFilters;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** The API wants at least one filter, so that nobody means all sessions by mistake. */
const ALL = { since: '1970-01-01' };

/** Does one thing with every session that matches, as a job of the gateway: preview, progress, result. */
export function JobDialog({ action, filters, onDone, onClose }: Props) {
  const { verb, effect, danger } = BULK_ACTIONS[action];
  const filter: Record<string, unknown> = Object.keys(filters).length === 0 ? ALL : { ...filters };
  const [sure, setSure] = useState(action !== 'erase');
  const [jobId, setJobId] = useState<string | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [key] = useState(newKey);
  const preview = useQuery({
    queryKey: ['job-preview', action, filter],
    queryFn: ({ signal }) => ask(api.POST('/v1/jobs', { body: { action, filter, dry_run: true }, signal })),
    staleTime: 0,
    gcTime: 0,
  });
  const start = async () => {
    setBusy(true);
    setError(null);
    try {
      const { job_id } = await ask(
        api.POST('/v1/jobs', {
          params: { header: { 'Idempotency-Key': key } },
          body: { action, filter, dry_run: false },
        }),
      );
      setJobId(job_id);
    } catch (refused) {
      setError(messageOf(refused));
    } finally {
      setBusy(false);
    }
  };
  const matches = preview.data?.matches ?? 0;
  const count = `${preview.data?.matches_exact === false ? 'at least ' : ''}${countText(matches)}`;
  if (jobId !== null) return <JobProgress id={jobId} verb={verb} onDone={onDone} onClose={onClose} />;
  return (
    <Dialog
      title={`${verb} all that match`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Leave it</Button>
          <Button
            kind={danger ? 'danger' : 'main'}
            busy={busy}
            disabled={matches === 0 || !sure}
            onClick={() => void start()}
          >
            {verb} {preview.data === undefined ? '' : count}
          </Button>
        </>
      }
    >
      {preview.data === undefined ? (
        preview.error === null ? (
          <Loading what="the preview" />
        ) : (
          <Failed error={preview.error} retry={() => void preview.refetch()} />
        )
      ) : (
        <>
          <p>
            {matches === 0
              ? 'No session matches for which this makes sense.'
              : `${count} sessions match. ${effect}`}
          </p>
          <ul className="bulk-sample">
            {preview.data.sample.map((item) => (
              <li key={item.id} className="cut">
                <bdi>{visibleText('title' in item && item.title !== '' ? item.title : String(item.id))}</bdi>
              </li>
            ))}
            {matches > preview.data.sample.length && (
              <li className="muted">and {countText(matches - preview.data.sample.length)} more</li>
            )}
          </ul>
          {action === 'erase' && matches > 0 && <Sure sure={sure} onChange={setSure} />}
        </>
      )}
      {error !== null && (
        <p className="form-error" role="alert">
          {error}
        </p>
      )}
    </Dialog>
  );
}

const OVER = new Set(['finished', 'cancelled']);
const POLL_MS = 500;

/** The job goes on in the gateway when this is closed. */
export function JobProgress(props: {
  readonly id: string;
  readonly verb: string;
  readonly onDone: () => void;
  readonly onClose: () => void;
}) {
  const { id, verb, onDone, onClose } = props;
  const { data: job } = useQuery({
    queryKey: ['job', id],
    queryFn: ({ signal }) => ask(api.GET('/v1/jobs/{id}', { params: { path: { id } }, signal })),
    refetchInterval: ({ state }) =>
      state.data !== undefined && OVER.has(state.data.status) ? false : POLL_MS,
    staleTime: 0,
  });
  const over = job !== undefined && OVER.has(job.status);
  const close = () => {
    onDone();
    onClose();
  };
  return (
    <Dialog
      title={`${verb}: ${job?.status ?? 'requested'}`}
      onClose={close}
      actions={
        <>
          {!over && (
            <Button
              onClick={() =>
                void ask(api.POST('/v1/jobs/{id}/cancel', { params: { path: { id } } })).catch(tellFailure)
              }
            >
              Stop the job
            </Button>
          )}
          <Button kind="main" onClick={close}>
            {over ? 'Close' : 'Close, the job goes on'}
          </Button>
        </>
      }
    >
      {job === undefined ? (
        <Loading what="the job" />
      ) : (
        <>
          <progress
            max={Math.max(job.matches, 1)}
            value={over ? Math.max(job.matches, 1) : job.done + job.skipped + job.failed}
            aria-label="Progress"
          />
          <p role="status">
            {countText(job.done)} done, {countText(job.skipped)} skipped, {countText(job.failed)} failed, of{' '}
            {countText(job.matches)}
          </p>
          {Object.entries(job.skips).map(([reason, count]) => (
            <p key={reason} className="muted">
              {count} skipped: <bdi>{visibleText(reason)}</bdi>
            </p>
          ))}
          <Failures failures={job.failures} />
          <p className="muted">
            Job <span className="mono">{id}</span>
          </p>
        </>
      )}
    </Dialog>
  );
}
