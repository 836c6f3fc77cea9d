import { useRef, useState } from 'react';
import { Button } from '../../../parts/controls/button.tsx';
import { Dialog } from '../../../parts/dialog/dialog.tsx';
import { visibleText } from '../../../parts/text/visible-text.ts';
import type { SessionRow } from '../list/session-rows.ts';
import { BULK_ACTIONS, type BulkAction, type Progress, runEach } from './bulk-action.ts';
import { Failures, Sure } from './bulk-parts.tsx';

interface Props {
  readonly action: BulkAction;
  readonly rows: readonly SessionRow[];
  /** Ids of the sessions for which the action is done. */
  readonly onDone: (ids: ReadonlySet<string>) => void;
  readonly onClose: () => void;
}

const SAMPLE = 10;

/** Does one thing with the selected sessions: what will happen, then how far it is. */
export function SelectedDialog({ action, rows: selected, onDone, onClose }: Props) {
  // The selection at the time the dialog was opened: rows change and disappear while the work is under way.
  const [rows] = useState(selected);
  const { verb, effect, danger, fits, misfit, run } = BULK_ACTIONS[action];
  const fitting = rows.filter(fits);
  const [sure, setSure] = useState(action !== 'erase');
  const [progress, setProgress] = useState<Progress | null>(null);
  const [over, setOver] = useState(false);
  const stop = useRef<AbortController | null>(null);
  const start = async () => {
    stop.current = new AbortController();
    setProgress({ done: [], failures: [] });
    const { done } = await runEach(
      fitting.map(({ id }) => id),
      run,
      setProgress,
      stop.current.signal,
    );
    setOver(true);
    onDone(new Set(done));
  };
  const reached = progress === null ? 0 : progress.done.length + progress.failures.length;
  return (
    <Dialog
      title={`${verb} ${fitting.length} ${fitting.length === 1 ? 'session' : 'sessions'}`}
      onClose={() => {
        stop.current?.abort();
        onClose();
      }}
      actions={
        progress === null ? (
          <>
            <Button onClick={onClose}>Leave it</Button>
            <Button
              kind={danger ? 'danger' : 'main'}
              disabled={fitting.length === 0 || !sure}
              onClick={() => void start()}
            >
              {verb} {fitting.length}
            </Button>
          </>
        ) : over ? (
          <Button kind="main" onClick={onClose}>
            Close
          </Button>
        ) : (
          <Button onClick={() => stop.current?.abort()}>Stop</Button>
        )
      }
    >
      {progress === null ? (
        <>
          <p>{effect}</p>
          {fitting.length < rows.length && (
            <p className="muted">
              {rows.length - fitting.length} of the selected {misfit} and are left out.
            </p>
          )}
          <ul className="bulk-sample">
            {fitting.slice(0, SAMPLE).map(({ id, title }) => (
              <li key={id} className="cut">
                <bdi>{visibleText(title === '' ? id : title)}</bdi>
              </li>
            ))}
            {fitting.length > SAMPLE && <li className="muted">and {fitting.length - SAMPLE} more</li>}
          </ul>
          {action === 'erase' && <Sure sure={sure} onChange={setSure} />}
        </>
      ) : (
        <>
          <progress max={fitting.length} value={reached} aria-label="Progress" />
          <p role="status">
            {progress.done.length} done, {progress.failures.length} refused, of {fitting.length}
            {over && reached < fitting.length ? '; stopped' : ''}
          </p>
          <Failures failures={progress.failures} />
        </>
      )}
    </Dialog>
  );
}
