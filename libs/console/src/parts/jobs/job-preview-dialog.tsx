import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import {
  type JobAction,
  type JobFilter,
  type JobPreview,
  previewJob,
  startJob,
} from '../../api/calls/job-calls.ts';
import { newKey } from '../../api/calls/session-calls.ts';
import { Button } from '../controls/button.tsx';
import { Dialog } from '../dialog/dialog.tsx';
import { Failed, Loading } from '../feedback/states.tsx';
import { countText, visibleText } from '../text/visible-text.ts';
import { ScrollList } from './scroll-list.tsx';

interface Props {
  readonly title: string;
  readonly action: JobAction;
  readonly filter: JobFilter;
  /** `delivery`, `deliveries` */
  readonly noun: readonly [one: string, many: string];
  /** What the button says: `Send 50 deliveries again` for `(count) => ...`. */
  readonly act: (count: string) => string;
  readonly danger?: boolean;
  /** Something has to be confirmed first. */
  readonly disabled?: boolean;
  /** What happens to them. */
  readonly children?: ReactNode;
  readonly sample: (item: JobPreview['sample'][number]) => ReactNode;
  readonly onClose: () => void;
  readonly onStarted: (jobId: string) => void;
}

/** Shows what a bulk action would do before it does it. */
export function JobPreviewDialog(props: Props) {
  const {
    title,
    action,
    filter,
    noun,
    act,
    danger = false,
    disabled = false,
    sample,
    onClose,
    onStarted,
  } = props;
  // One key per dialog: a second press, or a repeat after a lost answer, starts no second job.
  const [key] = useState(newKey);
  const [starting, setStarting] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const preview = useQuery({
    queryKey: ['job-preview', action, filter, key],
    queryFn: () => previewJob(action, filter),
    gcTime: 0,
  });
  const found = preview.data;
  const count = found === undefined ? '' : countOf(found, noun);
  const start = async () => {
    setStarting(true);
    setError(null);
    try {
      const { job_id } = await startJob(action, filter, key);
      if (job_id !== null) onStarted(job_id);
    } catch (refused) {
      setError(refused);
      setStarting(false);
    }
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      wide
      actions={
        <>
          <Button onClick={onClose}>Leave it</Button>
          {found !== undefined && found.matches > 0 && (
            <Button
              kind={danger ? 'danger' : 'main'}
              busy={starting}
              disabled={disabled}
              onClick={() => void start()}
            >
              {act(count)}
            </Button>
          )}
        </>
      }
    >
      {preview.isPending && <Loading what="what would be done" />}
      {preview.isError && <Failed error={preview.error} retry={() => void preview.refetch()} />}
      {found !== undefined && (
        <>
          <p role="status">
            {found.matches === 0 ? `No ${noun[0]} matches: nothing would be done.` : `It concerns ${count}.`}
          </p>
          {props.children}
          <FilterText filter={filter} />
          {found.sample.length > 0 && (
            <>
              <h3>
                {found.sample.length < found.matches ? `The first ${found.sample.length}` : 'All of them'}
              </h3>
              <ScrollList label="Examples">
                {found.sample.map((item) => (
                  <li key={item.id}>{sample(item)}</li>
                ))}
              </ScrollList>
            </>
          )}
        </>
      )}
      {error !== null && <Failed error={error} />}
    </Dialog>
  );
}

function countOf({ matches, matches_exact }: JobPreview, [one, many]: Props['noun']): string {
  const text = `${countText(matches)} ${matches === 1 ? one : many}`;
  return matches_exact ? text : `at least ${text}`;
}

function FilterText({ filter }: { readonly filter: JobFilter }) {
  const entries = Object.entries(filter);
  if (entries.length === 0) return null;
  return (
    <p className="muted">
      {entries.map(([name, value]) => (
        <span key={name} className="tag">
          {name}: {visibleText(String(value))}
        </span>
      ))}
    </p>
  );
}
