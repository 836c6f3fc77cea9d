import { useRef } from 'react';
import { newKey } from './calls/session-calls.ts';

/**
 * The idempotency key of a request. It stays the same if the request is repeated after a lost answer, so that the request takes
 * effect once.
 */
export function useSendKey(): (what: string) => string {
  const last = useRef<{ readonly what: string; readonly key: string } | null>(null);
  return (what) => {
    if (last.current?.what !== what) last.current = { what, key: newKey() };
    return last.current.key;
  };
}
