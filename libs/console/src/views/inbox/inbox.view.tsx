import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { listQuestions, type OpenQuestion, QUESTIONS } from '../../api/calls/question-calls.ts';
import { useRowKeys } from '../../app/keyboard/use-row-keys.ts';
import { Page } from '../../app/shell/page.tsx';
import { useUrlFilters } from '../../app/url-filters.ts';
import { Empty, Failed, Loading } from '../../parts/feedback/states.tsx';
import { FilterBar } from '../../parts/filters/filter-bar.tsx';
import { SelectFilter } from '../../parts/filters/select-filter.tsx';
import { useRouteNames } from '../../parts/filters/use-known-names.ts';
import { More } from '../../parts/list/more.tsx';
import { ApprovalList } from './approval-list.tsx';
import { QuestionCard } from './question-card.tsx';
import { questionKey } from './question-key.ts';
import './inbox.css';

/** What waits for a person: tool calls that need an approval, then questions; the oldest first. */
export function InboxView() {
  // `question`, `approval`: the one that a link means.
  const [{ route, question: meant, approval }, setFilters] = useUrlFilters(['route', 'question', 'approval']);
  /** Null: not known yet. */
  const [approvals, setApprovals] = useState<number | null>(null);
  const queries = useQueryClient();
  const list = useRef<HTMLDivElement>(null);
  const routes = useRouteNames();
  const questions = useInfiniteQuery({
    queryKey: [...QUESTIONS, 'list', route ?? null],
    queryFn: ({ pageParam, signal }) =>
      listQuestions(route === undefined ? {} : { route }, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor }) => next_cursor,
  });
  useRowKeys(list);
  const items: readonly OpenQuestion[] = questions.data?.pages.flatMap((page) => page.items) ?? [];
  const reload = () => queries.invalidateQueries({ queryKey: QUESTIONS });
  const meantIsGone =
    meant !== undefined && questions.isSuccess && !items.some((item) => questionKey(item) === meant);
  return (
    <Page title="Inbox">
      <FilterBar
        label="Filter what waits"
        clear={route === undefined ? undefined : () => setFilters({ route: undefined })}
      >
        <SelectFilter
          label="Route"
          value={route}
          options={routes}
          any="All routes"
          onChange={(value) => setFilters({ route: value })}
        />
      </FilterBar>
      {meantIsGone && !questions.hasNextPage && (
        <p role="status">
          The question of this address is closed: somebody answered it, or its time was over.
        </p>
      )}
      {questions.isPending && <Loading what="the questions" />}
      {questions.isError && items.length === 0 && (
        <Failed error={questions.error} retry={() => void questions.refetch()} />
      )}
      {questions.isSuccess && items.length === 0 && approvals === 0 && (
        <Empty
          title={
            route === undefined ? 'Nobody is waiting for you' : `No session of ${route} waits for a person`
          }
          command={`curl -H "Authorization: Bearer $ANGELIA_ADMIN_TOKEN" ${location.origin}/v1/questions`}
        >
          A question appears here when an agent asks one (tool <code>clarify</code>), and a tool call when its
          policy asks about it. Both can also be answered in the chat, by the link in it, or by a program:
        </Empty>
      )}
      <div ref={list} className="inbox">
        <ApprovalList route={route} meant={approval} onCount={setApprovals} />
        {items.length > 0 && (
          <ul className="questions" aria-label="Open questions">
            {items.map((item) => (
              <QuestionCard
                key={questionKey(item)}
                question={item}
                meant={questionKey(item) === meant}
                onClosed={() => void reload()}
              />
            ))}
          </ul>
        )}
      </div>
      {items.length > 0 && <More what="questions" shown={items.length} query={questions} />}
    </Page>
  );
}
