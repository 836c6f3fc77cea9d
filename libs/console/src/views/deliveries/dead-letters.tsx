import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { type DeadLetter, listDeadLetters, replayDeadLetter } from '../../api/calls/delivery-calls.ts';
import type { JobFilter } from '../../api/calls/job-calls.ts';
import { useRowKeys } from '../../app/keyboard/use-row-keys.ts';
import { useUrlFilters } from '../../app/url-filters.ts';
import { Button } from '../../parts/controls/button.tsx';
import { Icon } from '../../parts/controls/icon.tsx';
import { Badge } from '../../parts/feedback/badge.tsx';
import { Empty, Failed, Loading } from '../../parts/feedback/states.tsx';
import { tell, tellFailure } from '../../parts/feedback/toasts.tsx';
import { FilterBar } from '../../parts/filters/filter-bar.tsx';
import { MomentFilter } from '../../parts/filters/moment-filter.tsx';
import { JobPreviewDialog } from '../../parts/jobs/job-preview-dialog.tsx';
import { More } from '../../parts/list/more.tsx';
import { Untrusted } from '../../parts/text/text.tsx';
import { Time } from '../../parts/time/time.tsx';

/** Dead letters are not events, so the live feed does not report them. They are rare. */
const POLL_MS = 10_000;
const SESSION_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Events that a service could not process, each with the reason. */
export function DeadLetters({ onJob }: { readonly onJob: (id: string) => void }) {
  // The list has no filters; a replay has.
  const [{ since, until }, setFilters] = useUrlFilters(['since', 'until']);
  const [asking, setAsking] = useState(false);
  const list = useRef<HTMLUListElement>(null);
  const letters = useInfiniteQuery({
    queryKey: ['dead-letters'],
    queryFn: ({ pageParam, signal }) => listDeadLetters(pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor }) => next_cursor,
    refetchInterval: POLL_MS,
  });
  const items: readonly DeadLetter[] = letters.data?.pages.flatMap((page) => page.items) ?? [];
  const replay = async (id: string) => {
    try {
      await replayDeadLetter(id);
      tell('It is processed again. If it fails again, it comes back with a new reason.');
    } catch (refused) {
      tellFailure(refused);
    }
    await letters.refetch();
  };
  useRowKeys(list, { retry: (id) => (id === null ? false : void replay(id)) });
  const filter: JobFilter = {
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
  };
  return (
    <div className="stack">
      {items.length > 0 && (
        <FilterBar label="What to process again">
          <MomentFilter
            label="Recorded since"
            value={since}
            onChange={(value) => setFilters({ since: value })}
          />
          <MomentFilter
            label="Recorded before"
            value={until}
            onChange={(value) => setFilters({ until: value })}
          />
          <Button onClick={() => setAsking(true)}>
            <Icon name="retry" /> Process all of this time again…
          </Button>
        </FilterBar>
      )}
      {letters.isPending && <Loading what="the dead letters" />}
      {letters.isError && items.length === 0 && (
        <Failed error={letters.error} retry={() => void letters.refetch()} />
      )}
      {letters.isSuccess && items.length === 0 && (
        <Empty title="There are no dead letters">
          An event that a service cannot process is put aside here, with the reason, so that it blocks
          nothing. An outage never makes one.
        </Empty>
      )}
      {items.length > 0 && (
        <ul ref={list} className="rows" aria-label="Dead letters">
          {items.map((letter) => (
            <li key={letter.id} className="row" data-row={letter.id}>
              <div className="row-head">
                <Badge tone="bad">{letter.handler}</Badge>
                {SESSION_ID.test(letter.stream_id) ? (
                  <Link
                    to="/sessions/$id"
                    params={{ id: letter.stream_id }}
                    className="mono row-name"
                    data-row-focus
                  >
                    {letter.stream_id}
                  </Link>
                ) : (
                  <span className="mono row-name" data-row-focus tabIndex={-1}>
                    <Untrusted text={letter.stream_id} />
                  </span>
                )}
                <span className="end">
                  <Time at={letter.recorded_at} />
                </span>
              </div>
              <p className="row-words row-words-bad">
                <Untrusted text={letter.reason} />
              </p>
              <div className="row-foot">
                <span>
                  {letter.version === 0 ? 'no event: found by the sweep' : `event ${letter.version}`}
                </span>
                <Button
                  className="end"
                  aria-label={`Process the dead letter ${letter.id} again`}
                  onClick={() => void replay(letter.id)}
                >
                  Process again
                </Button>
              </div>
            </li>
          ))}
        </ul>
      )}
      {items.length > 0 && <More what="dead letters" shown={items.length} query={letters} />}
      {asking && (
        <JobPreviewDialog
          title="Process dead letters again"
          action="replay-dead-letters"
          filter={filter}
          noun={['dead letter', 'dead letters']}
          act={(count) => `Process ${count} again`}
          sample={(item) =>
            'handler' in item && (
              <>
                <strong>{item.handler}</strong> <span className="mono">{item.stream_id}</span>
                <div className="muted">
                  <Untrusted text={item.reason} />
                </div>
              </>
            )
          }
          onClose={() => setAsking(false)}
          onStarted={(id) => {
            setAsking(false);
            onJob(id);
          }}
        />
      )}
    </div>
  );
}
