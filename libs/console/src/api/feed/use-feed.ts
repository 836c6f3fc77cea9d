import { useEffect, useEffectEvent, useSyncExternalStore } from 'react';
import type { FeedBatch } from './feed-event.ts';
import { type FeedState, liveFeed } from './live-feed.ts';

/** Calls `handle` with each batch of live events, as long as the component is there. */
export function useFeed(handle: (batch: FeedBatch) => void): void {
  const latest = useEffectEvent(handle);
  useEffect(() => {
    return liveFeed.subscribe((batch) => latest(batch));
  }, []);
}

export function useFeedState(): FeedState {
  return useSyncExternalStore(
    (listener) => liveFeed.onState(listener),
    () => liveFeed.state,
  );
}
