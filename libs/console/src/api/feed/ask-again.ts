import type { QueryClient, QueryFilters } from '@tanstack/react-query';

/** First answers that something follows already. */
const followed = new WeakSet<Promise<unknown>>();

/**
 * Asks again for what is shown, because something happened. A first answer that is on its way may be too old, and TanStack Query
 * waits for it instead of asking again: so it is asked again after it.
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
