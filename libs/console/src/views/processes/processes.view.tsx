import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { listProcesses, type SessionProcess } from '../../api/calls/process-calls.ts';
import { typesOf, useRefresh } from '../../api/feed/use-refresh.ts';
import { useRowKeys } from '../../app/keyboard/use-row-keys.ts';
import { Page } from '../../app/shell/page.tsx';
import { useUrlFilters } from '../../app/url-filters.ts';
import { Button } from '../../parts/controls/button.tsx';
import { Badge } from '../../parts/feedback/badge.tsx';
import { Empty, Failed, Loading } from '../../parts/feedback/states.tsx';
import { FilterBar } from '../../parts/filters/filter-bar.tsx';
import { SelectFilter } from '../../parts/filters/select-filter.tsx';
import { TextFilter } from '../../parts/filters/text-filter.tsx';
import { isLive, More } from '../../parts/list/more.tsx';
import { Untrusted } from '../../parts/text/text.tsx';
import { Time, Took } from '../../parts/time/time.tsx';
import { KillProcess } from './kill-process.tsx';
import { processState } from './process-state.ts';

const STATUSES = [
  ['running', 'Running'],
  ['exited', 'Ended'],
  ['lost', 'Lost'],
] as const;

/** Background processes of all sessions. */
export function ProcessesView() {
  const [filters, setFilters] = useUrlFilters(['status', 'session', 'id']);
  const [killing, setKilling] = useState<SessionProcess | null>(null);
  const list = useRef<HTMLUListElement>(null);
  const processes = useInfiniteQuery({
    queryKey: ['processes', filters],
    queryFn: ({ pageParam, signal }) => listProcesses(filters, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor }) => next_cursor,
    placeholderData: (before) => before,
  });
  useRefresh(['processes'], typesOf('process.'), isLive(processes.data));
  useRowKeys(list);
  const items: readonly SessionProcess[] = processes.data?.pages.flatMap((page) => page.items) ?? [];
  const filtered = Object.keys(filters).length > 0;
  return (
    <Page title="Processes">
      <FilterBar
        label="Filter the processes"
        clear={
          filtered ? () => setFilters({ status: undefined, session: undefined, id: undefined }) : undefined
        }
      >
        <SelectFilter
          label="State"
          value={filters.status}
          options={STATUSES}
          onChange={(status) => setFilters({ status })}
        />
        <TextFilter
          label="Process"
          search
          placeholder="beginning of its id"
          value={filters.id}
          onChange={(id) => setFilters({ id })}
        />
        <TextFilter
          label="Session"
          placeholder="whole id"
          value={filters.session}
          onChange={(session) => setFilters({ session })}
        />
      </FilterBar>
      {processes.isPending && <Loading what="the processes" />}
      {processes.isError && items.length === 0 && (
        <Failed error={processes.error} retry={() => void processes.refetch()} />
      )}
      {processes.isSuccess && items.length === 0 && (
        <Empty
          title={filtered ? 'No process matches' : 'No process was started yet'}
          command={`curl -H "Authorization: Bearer $ANGELIA_ADMIN_TOKEN" ${location.origin}/v1/processes`}
        >
          An agent with the toolset <code>processes</code> can start commands in the background. They are
          listed here, with their output.
        </Empty>
      )}
      {items.length > 0 && (
        <ul ref={list} className="rows" aria-label="Processes">
          {items.map((process) => (
            <ProcessRow key={process.id} process={process} onKill={() => setKilling(process)} />
          ))}
        </ul>
      )}
      {items.length > 0 && (
        <More what="processes" shown={items.length} liveKey={['processes']} query={processes} />
      )}
      {killing !== null && <KillProcess process={killing} onClose={() => setKilling(null)} />}
    </Page>
  );
}

function ProcessRow({ process, onKill }: { readonly process: SessionProcess; readonly onKill: () => void }) {
  const { tone, text } = processState(process);
  return (
    <li className="row" data-row={process.id}>
      <div className="row-head">
        <Badge tone={tone}>{text}</Badge>
        <Link to="/processes/$id" params={{ id: process.id }} className="mono row-name" data-row-focus>
          <Untrusted text={process.command} />
        </Link>
        <span className="end">
          <Time at={process.started_at} />
        </span>
      </div>
      <div className="row-foot">
        <span className="mono">{process.id}</span>
        <Link to="/sessions/$id" params={{ id: process.session_id }} className="mono">
          {process.session_id}
        </Link>
        <span>
          ran{' '}
          <Took
            from={Date.parse(process.started_at)}
            until={
              process.ended_at === null
                ? process.status === 'running'
                  ? null
                  : Date.now()
                : Date.parse(process.ended_at)
            }
          />
        </span>
        <span>
          on <Untrusted text={process.host} />
        </span>
        {process.status === 'running' && (
          <Button className="end" aria-label={`Kill ${process.id}`} onClick={onKill}>
            Kill…
          </Button>
        )}
      </div>
    </li>
  );
}
