import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError } from '../../api/api-error.ts';
import { listProcesses, type SessionProcess } from '../../api/calls/process-calls.ts';
import { typesOf, useRefresh } from '../../api/feed/use-refresh.ts';
import { Page } from '../../app/shell/page.tsx';
import { Button } from '../../parts/controls/button.tsx';
import { CopyButton } from '../../parts/controls/copy-button.tsx';
import { Badge } from '../../parts/feedback/badge.tsx';
import { Failed, Loading } from '../../parts/feedback/states.tsx';
import { Untrusted } from '../../parts/text/text.tsx';
import { Time, Took } from '../../parts/time/time.tsx';
import { KillProcess } from './kill-process.tsx';
import { LiveOutput } from './live-output.tsx';
import { processState } from './process-state.ts';
import './processes.css';

/** One process and its output, live. */
export function ProcessView() {
  const { id = '' } = useParams({ strict: false });
  const [killing, setKilling] = useState(false);
  const found = useQuery({
    queryKey: ['processes', 'one', id],
    queryFn: async ({ signal }) => {
      const { items } = await listProcesses({ id }, null, signal);
      const process = items.find((item) => item.id === id);
      if (process === undefined)
        throw new ApiError(404, 'There is no such process, or its session was erased.');
      return process;
    },
  });
  useRefresh(['processes'], typesOf('process.'));
  const process = found.data;
  return (
    <Page
      title="Process"
      beside={process?.status === 'running' && <Button onClick={() => setKilling(true)}>Kill…</Button>}
    >
      {found.isPending && <Loading what="the process" />}
      {found.isError && <Failed error={found.error} retry={() => void found.refetch()} />}
      {process !== undefined && (
        <>
          <ProcessFacts process={process} />
          <LiveOutput key={process.id} id={process.id} running={process.status === 'running'} />
          {killing && <KillProcess process={process} onClose={() => setKilling(false)} />}
        </>
      )}
    </Page>
  );
}

function ProcessFacts({ process }: { readonly process: SessionProcess }) {
  const { tone, text } = processState(process);
  return (
    <section className="panel stack" aria-label="About the process">
      <div className="row-head">
        <Badge tone={tone}>{text}</Badge>
        {process.watched && <span className="tag">its output is watched</span>}
        {process.notify_on_complete && <span className="tag">its end is reported</span>}
      </div>
      <dl className="facts">
        <dt>Command</dt>
        <dd>
          <code>
            <Untrusted text={process.command} />
          </code>{' '}
          <CopyButton text={process.command} of="the command" />
        </dd>
        <dt>Id</dt>
        <dd>
          <span className="mono">{process.id}</span> <CopyButton text={process.id} of="the id" />
        </dd>
        <dt>Session</dt>
        <dd>
          <Link to="/sessions/$id" params={{ id: process.session_id }} className="mono">
            {process.session_id}
          </Link>
        </dd>
        <dt>Started</dt>
        <dd>
          <Time at={process.started_at} />, ran{' '}
          <Took
            from={Date.parse(process.started_at)}
            until={process.ended_at === null ? null : Date.parse(process.ended_at)}
          />
        </dd>
        <dt>Where</dt>
        <dd>
          pid {process.pid} on <Untrusted text={process.host} />
        </dd>
      </dl>
    </section>
  );
}
