import { useQuery } from '@tanstack/react-query';
import { useEffect, useEffectEvent, useRef, useSyncExternalStore } from 'react';
import { api, ask } from '../../../api/client.ts';
import { Refresher } from '../../../api/feed/refresher.ts';
import { useFeed } from '../../../api/feed/use-feed.ts';
import { currentSession, onSessionChange } from '../../../api/session.ts';
import { stringifySearch } from '../../../app/search-params.ts';
import { filtersOf, type ListSearch } from '../filters/session-filters.ts';
import { ListLoader } from './list-loader.ts';

/** The last list stays, so that a reader who comes back from a session finds it as it was. */
let kept = nothingKept();

function nothingKept(): { readonly key: string | null; readonly loader: ListLoader; offset: number } {
  return { key: null, loader: new ListLoader({}), offset: 0 };
}

onSessionChange(() => {
  if (currentSession() === null) kept = nothingKept();
});

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
  const refresher = useRef<Refresher | null>(null);
  const refresh = useEffectEvent(() => {
    void loader.refreshHead(seen.atTop);
    const visible = seen.visible().filter((id) => changed.current.has(id));
    changed.current = new Set();
    if (visible.length > 0) void loader.refreshRows(visible);
  });

  // biome-ignore lint/correctness/useExhaustiveDependencies: another loader has another list.
  useEffect(() => {
    const made = new Refresher(() => refresh());
    refresher.current = made;
    if (loader.state.list.rows.length === 0) void loader.loadMore();
    else void loader.refreshHead(seen.atTop);
    return () => {
      made.stop();
      loader.pause();
    };
  }, [loader]);

  useFeed(({ events, gap }) => {
    for (const { session_id } of events) if (session_id !== null) changed.current.add(session_id);
    if (gap) for (const id of seen.visible()) changed.current.add(id);
    if (gap || changed.current.size > 0) refresher.current?.poke();
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
