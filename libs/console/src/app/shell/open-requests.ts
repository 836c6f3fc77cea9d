import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { api, ask } from '../../api/client.ts';
import { useRefresh } from '../../api/feed/use-refresh.ts';
import { changesOpen, type Waiting } from './request-events.ts';

/** A tab in the background has no feed, but its title still shows that somebody is needed. */
const POLL_MS = 60_000;

/** How many questions and requests for approval wait for a person. */
export function useOpenRequests(): number {
  return useOpen('questions') + useOpen('approvals');
}

function useOpen(what: Waiting): number {
  const queries = useQueryClient();
  const { data } = useQuery({
    queryKey: [what, 'count'],
    queryFn: async ({ signal }) => {
      const options = { params: { query: { count: 'true', limit: 1 } }, signal } as const;
      const page =
        what === 'questions'
          ? await ask(api.GET('/v1/questions', options))
          : await ask(api.GET('/v1/approvals', options));
      return page.count ?? 0;
    },
    refetchInterval: POLL_MS,
    refetchIntervalInBackground: true,
  });
  useRefresh([what], ({ type }) => changesOpen(what, type, data));
  // The count may have been fetched while the tab was in the background, or the list before the views had the event.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the effect runs when the number changes.
  useEffect(() => void queries.invalidateQueries({ queryKey: [what, 'list'] }), [data, queries, what]);
  return data ?? 0;
}
