import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api, ask } from '../../api/client.ts';
import { useFeed } from '../../api/feed/use-feed.ts';
import { useThrottled } from '../../api/feed/use-throttled.ts';
import { changesQuestions } from './question-events.ts';

/** The list is a moment behind the log. */
const REFRESH_MS = 1_000;
/** A tab that nobody looks at has no feed, and still shows in its title that somebody is needed. */
const POLL_MS = 60_000;

/** How many questions wait for a person. */
export function useOpenQuestions(): number {
  const queries = useQueryClient();
  const refresh = useThrottled(() => void queries.invalidateQueries({ queryKey: ['questions'] }), REFRESH_MS);
  const { data } = useQuery({
    queryKey: ['questions', 'count'],
    queryFn: async ({ signal }) =>
      (await ask(api.GET('/v1/questions', { params: { query: { count: 'true', limit: 1 } }, signal })))
        .count ?? 0,
    refetchInterval: POLL_MS,
    refetchIntervalInBackground: true,
  });
  useFeed(({ events, gap }) => {
    if (gap || events.some(({ type }) => changesQuestions(type, data))) refresh();
  });
  return data ?? 0;
}
