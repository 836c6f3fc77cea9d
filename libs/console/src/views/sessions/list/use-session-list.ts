import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useSyncExternalStore } from 'react';
import { api, ask } from '../../../api/client.ts';
import { useFeed } from '../../../api/feed/use-feed.ts';
import { stringifySearch } from '../../../app/search-params.ts';
import { filtersOf, type ListSearch } from '../filters/session-filters.ts';
import { ListLoader } from './list-loader.ts';

/** The newest page is looked at again at most once a second, whatever happens. */
const REFRESH_MS = 1_000;

/** The last list stays, so that a reader who comes back from a session finds it as it was. */
let kept: { key: string | null; loader: ListLoader; offset: number } = {
  key: null,
  loader: new ListLoader({}),
  offset: 0,
};

/** The list for an address. `atTop` and `visible` tell what the reader sees. */
export function useSessionList(
  search: ListSearch,
  seen: { readonly atTop: () => boolean; readonly visible: () => readonly string[] },
) {
  const key = stringifySearch(search);
  if (kept.key !== key) kept = { key, loader: new ListLoader(search), offset: 0 };
  const { loader } = kept;
  const state = useSyncExternalStore(
    (listener) => loader.subscribe(listener),
    () => loader.state,
  );
  const changed = useRef(new Set<string>());
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another loader has another list.
  useEffect(() => {
    if (loader.state.list.rows.length === 0) void loader.loadMore();
    else void loader.refreshHead(seen.atTop);
    return () => {
      loader.pause();
      if (timer.current !== null) clearTimeout(timer.current);
      timer.current = null;
    };
  }, [loader, seen.atTop]);

  const refresh = () => {
    timer.current = null;
    const ids = changed.current;
    changed.current = new Set();
    void loader.refreshHead(seen.atTop);
    const visible = seen.visible().filter((id) => ids.has(id));
    if (visible.length > 0) void loader.refreshRows(visible);
  };
  useFeed(({ events, gap }) => {
    for (const { session_id } of events) if (session_id !== null) changed.current.add(session_id);
    if (gap) for (const id of seen.visible()) changed.current.add(id);
    if ((gap || changed.current.size > 0) && timer.current === null)
      timer.current = setTimeout(refresh, REFRESH_MS);
  });
  return {
    key,
    loader,
    state,
    offset: kept.offset,
    keepOffset: (offset: number) => {
      kept.offset = offset;
    },
  };
}

/** How many sessions fit; null until it is known. */
export function useCount(search: ListSearch): { readonly count: number; readonly exact: boolean } | null {
  const filters = filtersOf(search);
  const { data } = useQuery({
    queryKey: ['session-count', filters],
    queryFn: async ({ signal }) => {
      const query = { ...filters, count: 'true', limit: 1 };
      return ask(api.GET('/v1/sessions', { params: { query: query as object }, signal }));
    },
    refetchInterval: 15_000,
    staleTime: 5_000,
  });
  return data?.count === undefined ? null : { count: data.count, exact: data.count_exact !== false };
}
