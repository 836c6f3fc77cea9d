/**
 * Whether it makes sense to try. A circuit is closed as long as things go well; `failures` in a row open it, and while
 * it is open nobody sends, so that a platform that is down is not hammered and no attempt of a schedule is spent on it.
 * After a pause one is let through to see (half-open): if that one works the circuit is closed, if not the next
 * pause is twice as long.
 *
 *   closed --failures in a row--> open --pause over, one passes--> probing --worked--> closed
 *                                  ^                                 |
 *                                  +------------ failed -------------+
 *
 * Of this process: what other replicas found out is not known here. Each finds out by itself, at the price of
 * `failures` attempts.
 */
export interface CircuitLimits {
  readonly failures: number;
  readonly firstPauseMs: number;
  readonly lastPauseMs: number;
  /** Nobody has tried an open one for this long: nobody has anything for it any more, and it is no news that it is open. */
  readonly staleMs: number;
}

/** More than a hiccup that hits a few at once; few enough that a schedule of 5 is not eaten up by one outage. */
const FAILURES = 5;
const FIRST_PAUSE_MS = 2_000;
/** How late it may be noticed that a platform is back. */
const LAST_PAUSE_MS = 30_000;

/** A retry comes up to a fifth later than its delay (retry-schedule.ts), and takes its time. */
const STALE_DELAYS = 1.5;
const LEAST_STALE_MS = 10 * 60_000;

/** Who retries sooner than these (`retry_schedule_seconds`) wants to know sooner, too. */
export function circuitLimits(scheduleSeconds: readonly number[]): CircuitLimits {
  const delays = scheduleSeconds.map((seconds) => seconds * 1_000).filter((ms) => ms > 0);
  const firstPauseMs = Math.min(FIRST_PAUSE_MS, ...delays);
  return {
    failures: FAILURES,
    firstPauseMs,
    lastPauseMs: Math.max(firstPauseMs, Math.min(LAST_PAUSE_MS, Math.max(0, ...delays))),
    staleMs: Math.max(LEAST_STALE_MS, STALE_DELAYS * Math.max(0, ...delays)),
  };
}

/** What an attempt said about its target: `undecided` says nothing (it asked us to wait, or nothing was sent). */
export type Verdict = 'worked' | 'failed' | 'undecided';

interface Circuit {
  failures: number;
  /** null: closed. */
  open: { until: number; pauseMs: number; probing: boolean; failedAt: number } | null;
}

/** Circuits that had a failure and no success since: others are not kept. */
const MAX_KEPT = 10_000;

export class Circuits {
  readonly #limits: CircuitLimits;
  readonly #circuits = new Map<string, Circuit>();

  constructor(limits: CircuitLimits) {
    this.#limits = limits;
  }

  /**
   * How many are open, or just being tried again. Without those that nobody has tried for long: what waited there was
   * given up, and an alert on this figure would else last until the next restart.
   */
  openAt(now: number): number {
    let count = 0;
    for (const { open } of this.#circuits.values()) {
      if (open !== null && (open.probing || now - open.failedAt <= this.#limits.staleMs)) count += 1;
    }
    return count;
  }

  /** 0: pass. Infinity: somebody is trying, whose verdict is to be waited for. */
  waitMs(name: string, now: number): number {
    const open = this.#circuits.get(name)?.open;
    if (!open) return 0;
    return open.probing ? Number.POSITIVE_INFINITY : Math.max(0, open.until - now);
  }

  /** Passing, after `waitMs` said 0. True: it is the one that is let through to see. */
  pass(name: string): boolean {
    const open = this.#circuits.get(name)?.open;
    if (!open) return false;
    open.probing = true;
    return true;
  }

  /** `probe` as `pass` said. Tells what became of the circuit. */
  settle(name: string, verdict: Verdict, probe: boolean, now: number): 'opened' | 'closed' | 'same' {
    const circuit = this.#circuits.get(name);
    if (probe && circuit?.open) circuit.open.probing = false;
    if (verdict === 'undecided') return 'same';
    if (verdict === 'worked') {
      this.#circuits.delete(name);
      return circuit?.open ? 'closed' : 'same';
    }
    if (circuit?.open) {
      // Those that were under way when it opened say nothing new.
      if (probe) {
        const pauseMs = Math.min(this.#limits.lastPauseMs, circuit.open.pauseMs * 2);
        circuit.open = { until: now + pauseMs, pauseMs, probing: false, failedAt: now };
      }
      return 'same';
    }
    return this.#count(name, circuit, now);
  }

  #count(name: string, known: Circuit | undefined, now: number): 'opened' | 'same' {
    const circuit = known ?? { failures: 0, open: null };
    if (known === undefined) {
      const [oldest] = this.#circuits.keys();
      if (this.#circuits.size >= MAX_KEPT && oldest !== undefined) this.#circuits.delete(oldest);
      this.#circuits.set(name, circuit);
    }
    circuit.failures += 1;
    if (circuit.failures < this.#limits.failures) return 'same';
    const pauseMs = this.#limits.firstPauseMs;
    circuit.open = { until: now + pauseMs, pauseMs, probing: false, failedAt: now };
    return 'opened';
  }
}
