import { useEffect, useRef, useState } from 'react';
import { messageOf } from '../../../api/api-error.ts';
import { killProcess, type Session } from '../../../api/calls/session-calls.ts';
import { api, ask } from '../../../api/client.ts';
import { Button } from '../../../parts/controls/button.tsx';
import { CopyButton } from '../../../parts/controls/copy-button.tsx';
import { Confirm } from '../../../parts/dialog/confirm.tsx';
import { Badge } from '../../../parts/feedback/badge.tsx';
import { Empty } from '../../../parts/feedback/states.tsx';
import { tell } from '../../../parts/feedback/toasts.tsx';
import { ScrollBox } from '../../../parts/text/scroll-box.tsx';
import { Untrusted } from '../../../parts/text/text.tsx';
import { visibleText } from '../../../parts/text/visible-text.ts';
import { Took } from '../../../parts/time/time.tsx';

type Process = Session['processes'][number];

/** Background processes of the session, with their output as it comes. */
export function ProcessesTab({ session }: { readonly session: Session }) {
  if (session.processes.length === 0)
    return (
      <Empty title="No background processes">
        A tool call with `background` starts one. A session forgets processes that ended long ago; their
        events stay.
      </Empty>
    );
  return (
    <ul className="outputs">
      {session.processes.map((process) => (
        <li key={process.id} className="panel">
          <OneProcess process={process} />
        </li>
      ))}
    </ul>
  );
}

function OneProcess({ process }: { readonly process: Process }) {
  const [shown, setShown] = useState(process.status === 'running');
  const [killing, setKilling] = useState(false);
  const running = process.status === 'running';
  return (
    <article>
      <header className="output-header">
        <h2 className="mono">{process.id}</h2>
        <CopyButton text={process.id} of="the process id" />
        <Badge tone={running ? 'busy' : process.exit_code === 0 ? 'ok' : 'bad'}>
          {running
            ? 'running'
            : process.exit_code === null
              ? (process.signal ?? process.status)
              : `exit code ${process.exit_code}`}
        </Badge>
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
        <Confirm
          title="Kill this process?"
          act="Kill the process"
          danger
          run={async () => {
            await killProcess(process.id);
            tell('The process is being killed.');
          }}
          onClose={() => setKilling(false)}
        >
          <p>The whole process group gets SIGTERM, then SIGKILL.</p>
        </Confirm>
      )}
    </article>
  );
}

/** How often new output is asked for. There is no feed of it: it stays on the host of the process. */
const POLL_MS = 1_000;
/** The end of a long output is what somebody looks for. The rest is on the host. */
const KEPT_CHARACTERS = 200_000;

function LiveOutput({ id, running }: { readonly id: string; readonly running: boolean }) {
  const [output, setOutput] = useState('');
  const [error, setError] = useState<string | null>(null);
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const ending = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let offset: number | undefined;
    const read = async () => {
      let again = running;
      try {
        const part = await ask(
          api.GET('/v1/processes/{id}/output', {
            params: { path: { id }, query: offset === undefined ? {} : { offset } },
            signal: ending.signal,
          }),
        );
        offset = part.next_offset;
        if (part.output !== '') setOutput((before) => (before + part.output).slice(-KEPT_CHARACTERS));
        setError(null);
        again = running || !part.at_end;
      } catch (refused) {
        if (ending.signal.aborted) return;
        setError(messageOf(refused));
      }
      if (again) timer = setTimeout(() => void read(), POLL_MS);
    };
    setOutput('');
    void read();
    return () => {
      ending.abort();
      clearTimeout(timer);
    };
  }, [id, running]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it follows the output.
  useEffect(() => {
    // In new browsers it returns a promise, which is not what an effect may return.
    end.current?.scrollIntoView({ block: 'nearest' });
  }, [output]);
  return (
    <div className="long-text">
      {error !== null && <p className="form-error">{error}</p>}
      <ScrollBox label="Output">
        {output === '' ? 'No output yet' : visibleText(output)}
        <div ref={end} />
      </ScrollBox>
    </div>
  );
}
