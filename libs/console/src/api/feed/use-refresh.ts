import { type QueryKey, useQueryClient } from '@tanstack/react-query';
import { useEffect, useEffectEvent, useRef } from 'react';
import type { FeedEvent } from './feed-event.ts';
import { Refresher } from './refresher.ts';
import { useFeed } from './use-feed.ts';

/**
 * Asks again for the queries under `key` when live events concern them, or when events may have been missed. `follows`: false
 * for a list of many pages, which would be asked for one after the other each time.
 */
export function useRefresh(key: QueryKey, concerns: (event: FeedEvent) => boolean, follows = true): void {
  const queries = useQueryClient();
  const refresher = useRef<Refresher | null>(null);
  const refresh = useEffectEvent(() => void queries.invalidateQueries({ queryKey: key }));
  useEffect(() => {
    const made = new Refresher(() => refresh());
    refresher.current = made;
    return () => made.stop();
  }, []);
  useFeed(({ events, gap }) => {
    if (follows && (gap || events.some(concerns))) refresher.current?.poke();
  });
}

/** For `useRefresh`: events whose type begins with one of these. */
export const typesOf =
  (...beginnings: readonly string[]) =>
  ({ type }: FeedEvent): boolean =>
    beginnings.some((beginning) => type.startsWith(beginning));
