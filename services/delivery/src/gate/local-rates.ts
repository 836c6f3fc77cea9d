import type { Rate } from '../targets/target.ts';

/**
 * The platforms' limits as far as this process knows: a number of sends in any period, and pauses that a platform or another
 * replica (shared-rates.ts) asked for. What is held back here never asks Postgres, which keeps the limits for all
 * replicas together.
 */
interface Known {
  /** When the last sends went out, or will: ascending. */
  readonly sends: number[];
  pausedUntil: number;
}

/** Above this many names, those that no longer matter are dropped. A name takes about 100 bytes. */
const PRUNE_ABOVE = 5_000;
/** Longer than any period in use. Older sends no longer matter. */
const FORGET_AFTER_MS = 120_000;

export class LocalRates {
  readonly #known = new Map<string, Known>();

  /** How long until the next send is allowed; 0: now. */
  waitMs(name: string, rate: Rate | undefined, now: number): number {
    const known = this.#known.get(name);
    if (known === undefined) return 0;
    // Of the last `rate.sends` sends, the first must be a whole period ago.
    const first = rate === undefined ? undefined : known.sends.at(-rate.sends);
    const free = first === undefined || rate === undefined ? 0 : first + rate.seconds * 1000;
    return Math.max(0, free - now, known.pausedUntil - now);
  }

  /** Counts a send at this time, which may be in the future. */
  spend(name: string, rate: Rate | undefined, at: number): void {
    if (rate === undefined) return;
    const { sends } = this.#of(name, at);
    sends.push(at);
    if (sends.length > rate.sends) sends.shift();
  }

  /** The send that took its turn last goes out only now: the next one counts from here. */
  sending(name: string, now: number): void {
    const sends = this.#known.get(name)?.sends;
    const last = sends?.at(-1);
    if (sends !== undefined && last !== undefined && last < now) sends[sends.length - 1] = now;
  }

  pause(name: string, until: number, now: number): void {
    const known = this.#of(name, now);
    known.pausedUntil = Math.max(known.pausedUntil, until);
  }

  #of(name: string, now: number): Known {
    const known = this.#known.get(name);
    if (known) return known;
    if (this.#known.size >= PRUNE_ABOVE) this.#prune(now);
    const fresh = { sends: [], pausedUntil: 0 };
    this.#known.set(name, fresh);
    return fresh;
  }

  #prune(now: number): void {
    for (const [name, { sends, pausedUntil }] of this.#known) {
      if ((sends.at(-1) ?? 0) < now - FORGET_AFTER_MS && pausedUntil < now) this.#known.delete(name);
    }
  }
}
