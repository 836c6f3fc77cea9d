import { useSyncExternalStore } from 'react';

/** One timer for all relative times of the page; it stands still when nothing shows one. */
const TICK_MS = 1_000;

let now = Date.now();
let timer: ReturnType<typeof setInterval> | null = null;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    if (document.visibilityState === 'hidden') return;
    now = Date.now();
    for (const each of listeners) each();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0 && timer !== null) {
      clearInterval(timer);
      timer = null;
    }
  };
}

/** The current time, about once a second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

/** The same in steps, for texts that change seldom: a component is drawn again only when its step is over. */
export function useNowInSteps(stepMs: number): number {
  return useSyncExternalStore(subscribe, () => Math.floor(now / stepMs) * stepMs);
}
