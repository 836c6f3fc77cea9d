import { useRef } from 'react';
import { newKey } from './calls/session-calls.ts';

/** The idempotency key for what is sent: the same one if it is sent again after a lost answer, so that it counts once. */
export function useSendKey(): (what: string) => string {
  const last = useRef<{ readonly what: string; readonly key: string } | null>(null);
  return (what) => {
    if (last.current?.what !== what) last.current = { what, key: newKey() };
    return last.current.key;
  };
}
