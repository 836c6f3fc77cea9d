import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { APPROVALS, listApprovals, type OpenApproval } from '../../api/calls/approval-calls.ts';
import { useFeed } from '../../api/feed/use-feed.ts';
import { Failed, Loading } from '../../parts/feedback/states.tsx';
import { More } from '../../parts/list/more.tsx';
import { ApprovalCard } from './approval-card.tsx';
import { closedApproval } from './closed-approval.ts';

/** Requests that were closed while somebody looks at them. The rest is history, and is in their sessions. */
const MOST_CLOSED = 20;

interface Closed {
  readonly approval: OpenApproval;
  readonly what: string;
}

interface Props {
  readonly route: string | undefined;
  /** The one that the address names. */
  readonly meant: string | undefined;
  /** How many are open, as far as they are loaded. Null: not known yet. */
  readonly onCount: (count: number | null) => void;
}

/** Tool calls of all sessions that wait for an approval, the oldest first. */
export function ApprovalList({ route, meant, onCount }: Props) {
  const queries = useQueryClient();
  const [closed, setClosed] = useState<readonly Closed[]>([]);
  const deciding = useRef(new Set<string>());
  const approvals = useInfiniteQuery({
    queryKey: [...APPROVALS, 'list', route ?? null],
    queryFn: ({ pageParam, signal }) =>
      listApprovals(route === undefined ? {} : { route }, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor }) => next_cursor,
  });
  const items: readonly OpenApproval[] = approvals.data?.pages.flatMap((page) => page.items) ?? [];
  const reload = () => void queries.invalidateQueries({ queryKey: APPROVALS });
  const close = (id: string, what: string) => {
    const approval = items.find((item) => item.id === id);
    if (approval === undefined) return;
    setClosed((before) =>
      before.some((known) => known.approval.id === id)
        ? before
        : [...before, { approval, what }].slice(-MOST_CLOSED),
    );
  };
  useFeed(({ events }) => {
    for (const event of events) {
      const now = closedApproval(event);
      // Whoever decides here knows it.
      if (now !== null && !deciding.current.has(now.id)) close(now.id, now.what);
    }
  });
  const count = approvals.isSuccess ? items.length : null;
  useEffect(() => void onCount(count), [count, onCount]);

  const closedById = new Map(closed.map((one) => [one.approval.id, one]));
  const gone = closed.map(({ approval }) => approval).filter(({ id }) => !items.some((i) => i.id === id));
  const shown = [...gone, ...items].toSorted((a, b) => (a.asked_at < b.asked_at ? -1 : 1));
  const meantIsGone =
    meant !== undefined &&
    approvals.isSuccess &&
    !approvals.hasNextPage &&
    !shown.some(({ id }) => id === meant);
  return (
    <>
      {meantIsGone && (
        <p role="status">
          The request of this address is closed: somebody decided, or its time was over. Its session says
          which.
        </p>
      )}
      {approvals.isPending && <Loading what="the approvals" />}
      {approvals.isError && items.length === 0 && (
        <Failed error={approvals.error} retry={() => void approvals.refetch()} />
      )}
      {shown.length > 0 && (
        <ul className="questions" aria-label="Open approvals">
          {shown.map((approval) => (
            <ApprovalCard
              key={approval.id}
              approval={approval}
              meant={approval.id === meant}
              closed={closedById.get(approval.id)?.what ?? null}
              onDeciding={(isDeciding) => {
                if (isDeciding) deciding.current.add(approval.id);
                else deciding.current.delete(approval.id);
              }}
              onDecided={reload}
              onClosed={(what) => {
                close(approval.id, what);
                reload();
              }}
              onHide={() => setClosed((before) => before.filter((one) => one.approval.id !== approval.id))}
            />
          ))}
        </ul>
      )}
      {items.length > 0 && <More what="approvals" shown={items.length} query={approvals} />}
    </>
  );
}
