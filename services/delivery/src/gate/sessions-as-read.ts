import type { Loaded } from '@angelia/sessions';

/** A stream has some 20 kB in memory: 10 MB. Sessions that do not fit are read again when they are woken. */
const MOST = 512;
/** A session that waits for a slot waits for tens of milliseconds. */
const FRESH_MS = 2_000;

/**
 * Sessions that wait at the gate, as they were read before. Without this, a burst reads every session twice, and one after the
 * other, because the gate wakes the next session only when the one before has entered. A decision on an old state is safe: the
 * append asks for its version, and the decision is made again if somebody else has appended meanwhile.
 */
export class SessionsAsRead {
  readonly #kept = new Map<string, { readonly loaded: Loaded; readonly at: number }>();
  readonly #now: () => number;

  /** @param now milliseconds that never jump */
  constructor(now: () => number) {
    this.#now = now;
  }

  keep(loaded: Loaded): void {
    this.#kept.delete(loaded.id);
    this.#kept.set(loaded.id, { loaded, at: this.#now() });
    if (this.#kept.size <= MOST) return;
    for (const oldest of this.#kept.keys()) {
      this.#kept.delete(oldest);
      return;
    }
  }

  /** Null: not kept, or too old. The session is removed in either case. */
  take(id: string): Loaded | null {
    const kept = this.#kept.get(id);
    this.#kept.delete(id);
    return kept !== undefined && this.#now() - kept.at < FRESH_MS ? kept.loaded : null;
  }

  /** A hint says that there is a newer version. Timers and the sweep name no version: 0. */
  hinted(id: string, version: number): void {
    const kept = this.#kept.get(id);
    if (kept !== undefined && (version === 0 || version > kept.loaded.version)) this.#kept.delete(id);
  }
}
