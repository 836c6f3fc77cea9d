import { useRef, useState } from 'react';
import type { Session } from '../../../api/calls/session-calls.ts';
import { useRowKeys } from '../../../app/keyboard/use-row-keys.ts';
import { Button } from '../../../parts/controls/button.tsx';
import { CopyButton } from '../../../parts/controls/copy-button.tsx';
import { Badge } from '../../../parts/feedback/badge.tsx';
import { Empty } from '../../../parts/feedback/states.tsx';
import { Untrusted } from '../../../parts/text/text.tsx';
import { Took } from '../../../parts/time/time.tsx';
import { KillProcess } from '../../processes/kill-process.tsx';
import { LiveOutput } from '../../processes/live-output.tsx';
import { processState } from '../../processes/process-state.ts';
import '../../../parts/list/list.css';

type Process = Session['processes'][number];

/** Background processes of the session, with their output as it comes. */
export function ProcessesTab({ session }: { readonly session: Session }) {
  const list = useRef<HTMLUListElement>(null);
  useRowKeys(list);
  if (session.processes.length === 0)
    return (
      <Empty title="No background processes">
        A tool call with `background` starts one. A session forgets processes that ended long ago; their
        events stay.
      </Empty>
    );
  // The output of each is asked for every second, and a session may have sixteen.
  const running = session.processes.filter(({ status }) => status === 'running');
  const onlyRunning = running.length === 1 ? running[0]?.id : undefined;
  return (
    <ul ref={list} className="outputs">
      {session.processes.map((process) => (
        <li key={process.id} className="panel" data-row={process.id} data-row-focus tabIndex={-1}>
          <OneProcess process={process} sessionId={session.id} open={process.id === onlyRunning} />
        </li>
      ))}
    </ul>
  );
}

function OneProcess(props: {
  readonly process: Process;
  readonly sessionId: string;
  /** With its output. */
  readonly open: boolean;
}) {
  const { process, sessionId, open } = props;
  const running = process.status === 'running';
  const [shown, setShown] = useState(open);
  const [killing, setKilling] = useState(false);
  const { tone, text } = processState(process);
  return (
    <article>
      <header className="output-header">
        <h2 className="mono">{process.id}</h2>
        <CopyButton text={process.id} of="the process id" />
        <Badge tone={tone}>{text}</Badge>
        <span className="muted">
          <Took
            from={Date.parse(process.started_at)}
            until={process.ended_at === null ? null : Date.parse(process.ended_at)}
          />
          , on {process.host}, pid {process.pid}
        </span>
        <Button aria-expanded={shown} onClick={() => setShown(!shown)}>
          {shown ? 'Hide the output' : 'Show the output'}
        </Button>
        {running && (
          <Button kind="danger" onClick={() => setKilling(true)}>
            Kill
          </Button>
        )}
      </header>
      <p className="mono">
        <Untrusted text={process.command} />
      </p>
      {shown && <LiveOutput id={process.id} running={running} />}
      {killing && (
        <KillProcess process={{ ...process, session_id: sessionId }} onClose={() => setKilling(false)} />
      )}
    </article>
  );
}
