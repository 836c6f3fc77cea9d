import { useRef, useState } from 'react';
import { messageOf } from '../../api/api-error.ts';
import { retryDelivery } from '../../api/calls/session-calls.ts';
import { Button } from '../../parts/controls/button.tsx';
import { Dialog } from '../../parts/dialog/dialog.tsx';
import { ScrollList } from '../../parts/jobs/scroll-list.tsx';
import { Untrusted } from '../../parts/text/text.tsx';

interface Result {
  readonly id: string;
  /** Null: it is pending again. */
  readonly refused: string | null;
}

/** Sends some deliveries again, one after the other. A job does it for all that match. */
export function RetrySelected({
  ids,
  onClose,
}: {
  readonly ids: readonly string[];
  readonly onClose: () => void;
}) {
  // What was selected when the dialog was opened: a delivery that is sent is not dead any more, and leaves the selection.
  const [chosen] = useState(ids);
  const [results, setResults] = useState<readonly Result[]>([]);
  const [started, setStarted] = useState(false);
  const closed = useRef(false);
  const leave = () => {
    closed.current = true;
    onClose();
  };
  const run = async () => {
    setStarted(true);
    for (const id of chosen) {
      if (closed.current) return;
      const refused = await retryDelivery(id).then(() => null, messageOf);
      setResults((before) => [...before, { id, refused }]);
    }
  };
  const over = results.length === chosen.length;
  const refused = results.filter((result) => result.refused !== null);
  return (
    <Dialog
      title={`Retry ${chosen.length} ${chosen.length === 1 ? 'delivery' : 'deliveries'}`}
      onClose={leave}
      actions={
        over ? (
          <Button kind="main" onClick={onClose}>
            Done
          </Button>
        ) : (
          <>
            <Button onClick={leave}>{started ? 'Stop' : 'Leave it'}</Button>
            <Button kind="main" busy={started} onClick={() => void run()}>
              Send {chosen.length} again
            </Button>
          </>
        )
      }
    >
      {!started && (
        <ScrollList label="Deliveries to send again">
          {chosen.map((id) => (
            <li key={id} className="mono">
              {id}
            </li>
          ))}
        </ScrollList>
      )}
      {started && (
        <>
          <progress aria-label="Deliveries sent again" max={chosen.length} value={results.length} />
          <p role="status">
            {results.length} of {chosen.length}: {results.length - refused.length} pending again
            {refused.length > 0 && `, ${refused.length} refused`}
          </p>
        </>
      )}
      {refused.length > 0 && (
        <ScrollList label="Refused">
          {refused.map(({ id, refused: reason }) => (
            <li key={id}>
              <span className="mono">{id}</span>: <Untrusted text={reason ?? ''} />
            </li>
          ))}
        </ScrollList>
      )}
    </Dialog>
  );
}
