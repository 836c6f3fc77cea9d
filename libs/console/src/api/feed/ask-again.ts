import type { QueryClient, QueryFilters } from '@tanstack/react-query';

/** First answers that already have a follow-up. */
const followed = new WeakSet<Promise<unknown>>();

/**
 * Refetches what is shown, because something happened. A first answer that is still on its way may be too old, and TanStack
 * Query waits for it instead of fetching again. So it is fetched again after that answer.
 */
export function askAgain(queries: QueryClient, filters: QueryFilters): void {
  for (const { state, promise, queryKey } of queries.getQueryCache().findAll(filters)) {
    if (state.data !== undefined || promise === undefined || followed.has(promise)) continue;
    followed.add(promise);
    const again = () => queries.invalidateQueries({ queryKey, exact: true });
    // A failure is shown, with a way to try again.
    promise.then(again, () => {});
  }
  void queries.invalidateQueries(filters);
}
