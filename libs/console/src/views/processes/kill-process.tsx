import { useQueryClient } from '@tanstack/react-query';
import type { SessionProcess } from '../../api/calls/process-calls.ts';
import { killProcess } from '../../api/calls/session-calls.ts';
import { Confirm } from '../../parts/dialog/confirm.tsx';
import { tell } from '../../parts/feedback/toasts.tsx';
import { Untrusted } from '../../parts/text/text.tsx';

/** Asks before a process is ended. */
export function KillProcess({
  process,
  onClose,
}: {
  readonly process: SessionProcess;
  readonly onClose: () => void;
}) {
  const queries = useQueryClient();
  return (
    <Confirm
      title="Kill the process"
      act="Kill it"
      danger
      onClose={onClose}
      run={async () => {
        await killProcess(process.id);
        tell('It is being killed.');
        await queries.invalidateQueries({ queryKey: ['processes'] });
      }}
    >
      <p>
        <code>
          <Untrusted text={process.command} />
        </code>
      </p>
      <p>
        It and all that it started get SIGTERM, then SIGKILL.
        {process.notify_on_complete && ' Its session asked to be told when it ends, and continues.'}
      </p>
    </Confirm>
  );
}
