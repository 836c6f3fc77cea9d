import type { Query } from '@tanstack/react-query';

/** A single failure is ignored: the next attempt follows after a second. */
const FAILURES = 2;

/** What of a query decides. */
export interface Asked {
  readonly isActive: () => boolean;
  readonly state: Pick<Query['state'], 'fetchFailureCount' | 'fetchFailureReason'>;
}

/** Why something that is shown cannot be loaded or brought up to date; null if nothing keeps failing. */
export function queryTrouble(queries: readonly Asked[]): Error | null {
  const failing = queries.find((query) => query.isActive() && query.state.fetchFailureCount >= FAILURES);
  return failing?.state.fetchFailureReason ?? null;
}
