import { useState } from 'react';
import { JobDialog } from '../../../parts/jobs/job-dialog.tsx';
import { JobPreviewDialog } from '../../../parts/jobs/job-preview-dialog.tsx';
import { Untrusted } from '../../../parts/text/text.tsx';
import type { SessionFilters } from '../filters/session-filters.ts';
import { BULK_ACTIONS, type BulkAction } from './bulk-action.ts';
import { Sure } from './bulk-parts.tsx';

interface Props {
  readonly action: BulkAction;
  readonly filters: SessionFilters;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** The API wants at least one filter, so that nobody means all sessions by mistake. */
const ALL = { since: '1970-01-01' };

/** Does one thing with every session that matches, as a job of the gateway: preview, progress, result. */
export function MatchingDialog({ action, filters, onDone, onClose }: Props) {
  const { verb, effect, danger } = BULK_ACTIONS[action];
  const [sure, setSure] = useState(action !== 'erase');
  const [jobId, setJobId] = useState<string | null>(null);
  if (jobId !== null)
    return (
      <JobDialog
        id={jobId}
        onClose={() => {
          onDone();
          onClose();
        }}
      />
    );
  return (
    <JobPreviewDialog
      title={`${verb} all that match`}
      action={action}
      filter={Object.keys(filters).length === 0 ? ALL : filters}
      noun={['session', 'sessions']}
      act={(count) => `${verb} ${count}`}
      danger={danger}
      disabled={!sure}
      sample={(item) => (
        <Untrusted text={'title' in item && item.title !== '' ? item.title : String(item.id)} />
      )}
      onClose={onClose}
      onStarted={setJobId}
    >
      <p>{effect}</p>
      {action === 'erase' && <Sure sure={sure} onChange={setSure} />}
    </JobPreviewDialog>
  );
}
