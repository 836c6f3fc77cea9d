import { useSyncExternalStore } from 'react';
import type { Zone } from '../../parts/time/format-time.ts';

/** What a person chose for this browser. Nothing of it is secret. */
export interface Preferences {
  readonly theme: 'system' | 'light' | 'dark';
  readonly zone: Zone;
  /** Single keys act as commands. Speech input and some assistive tools need them off (WCAG 2.1.4). */
  readonly shortcuts: boolean;
}

const KEY = 'angelia-console';
const DEFAULTS: Preferences = { theme: 'system', zone: 'local', shortcuts: true };

let current = read();
const listeners = new Set<() => void>();

export const preferences = (): Preferences => current;

export function setPreferences(change: Partial<Preferences>): void {
  current = { ...current, ...change };
  try {
    localStorage.setItem(KEY, JSON.stringify(current));
  } catch {
    // A browser that stores nothing keeps the choice until the page is closed.
  }
  applyTheme();
  for (const listener of listeners) listener();
}

export function usePreferences(): Preferences {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
}

export function applyTheme(): void {
  if (current.theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = current.theme;
}

function read(): Preferences {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Preferences>;
    return {
      theme: kept.theme === 'light' || kept.theme === 'dark' ? kept.theme : DEFAULTS.theme,
      zone: kept.zone === 'utc' ? 'utc' : DEFAULTS.zone,
      shortcuts: kept.shortcuts !== false,
    };
  } catch {
    return DEFAULTS;
  }
}
