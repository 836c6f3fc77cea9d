import { useEffect, useRef } from 'react';

/** Calls at once, then at most once in the interval, and once more at its end if it was called meanwhile. */
export function useThrottled(call: () => void, intervalMs: number): () => void {
  const state = useRef({ timer: null as ReturnType<typeof setTimeout> | null, again: false });
  useEffect(() => {
    const { current } = state;
    return () => {
      if (current.timer !== null) clearTimeout(current.timer);
    };
  }, []);
  const run = () => {
    const { current } = state;
    if (current.timer !== null) {
      current.again = true;
      return;
    }
    call();
    current.timer = setTimeout(() => {
      current.timer = null;
      if (!current.again) return;
      current.again = false;
      run();
    }, intervalMs);
  };
  return run;
}
