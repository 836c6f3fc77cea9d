import type { Rate } from '../targets/target.ts';

/**
 * The platforms' limits, as far as this process knows: so many sends in any stretch of time, and pauses that a platform,
 * or another replica (shared-turns.ts), asked for. What is held back here is never asked for in Postgres, where the
 * limits are kept for all replicas together.
 */
interface Kept {
  /** When the last ones were sent, or will be: ascending. */
  readonly sends: number[];
  pausedUntil: number;
}

/** Names in use at once before those that say nothing any more are dropped; a name is some 100 bytes. */
const PRUNE_ABOVE = 5_000;
/** Longer than any stretch in use. What is older says nothing. */
const FORGET_AFTER_MS = 120_000;

export class Rates {
  readonly #kept = new Map<string, Kept>();

  /** How long until the next may be sent; 0: now. */
  waitMs(name: string, rate: Rate | undefined, now: number): number {
    const kept = this.#kept.get(name);
    if (kept === undefined) return 0;
    // Of the last `rate.sends` the first must be a whole stretch ago.
    const first = rate === undefined ? undefined : kept.sends.at(-rate.sends);
    const free = first === undefined || rate === undefined ? 0 : first + rate.seconds * 1000;
    return Math.max(0, free - now, kept.pausedUntil - now);
  }

  /** One is sent at this time, which may be ahead. */
  spend(name: string, rate: Rate | undefined, at: number): void {
    if (rate === undefined) return;
    const { sends } = this.#of(name, at);
    sends.push(at);
    if (sends.length > rate.sends) sends.shift();
  }

  /** The one that took its turn last goes out only now: what follows counts from here. */
  sending(name: string, now: number): void {
    const sends = this.#kept.get(name)?.sends;
    const last = sends?.at(-1);
    if (sends !== undefined && last !== undefined && last < now) sends[sends.length - 1] = now;
  }

  pause(name: string, until: number, now: number): void {
    const kept = this.#of(name, now);
    kept.pausedUntil = Math.max(kept.pausedUntil, until);
  }

  #of(name: string, now: number): Kept {
    const known = this.#kept.get(name);
    if (known) return known;
    if (this.#kept.size >= PRUNE_ABOVE) this.#prune(now);
    const made = { sends: [], pausedUntil: 0 };
    this.#kept.set(name, made);
    return made;
  }

  #prune(now: number): void {
    for (const [name, { sends, pausedUntil }] of this.#kept) {
      if ((sends.at(-1) ?? 0) < now - FORGET_AFTER_MS && pausedUntil < now) this.#kept.delete(name);
    }
  }
}
