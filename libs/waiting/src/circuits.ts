/**
 * Says whether a call of another system (a model, a platform) is worth trying. A circuit is closed while calls work.
 * `failures` in a row open it, and while it is open nobody calls: a system that is down is not hammered, and no attempt of a
 * retry schedule is spent on it. After a pause one call goes through as a probe (half-open). If it works, the circuit
 * closes; if not, the next pause is twice as long.
 *
 *   closed --failures in a row, or hold--> open --pause over, one passes--> probing --worked--> closed
 *                                           ^                                 |
 *                                           +------------ failed -------------+
 *
 * Circuits belong to this process. Each replica finds out by itself that a system is down, at the price of `failures` calls.
 */
export interface CircuitLimits {
  readonly failures: number;
  readonly firstPauseMs: number;
  readonly lastPauseMs: number;
  /** An open circuit that nobody has tried for this long no longer counts as open: nobody has anything to send to it. */
  readonly staleMs: number;
}

/** More than a hiccup that hits a few calls at once. Few enough that one outage does not use up a schedule of 5. */
const FAILURES = 5;
const FIRST_PAUSE_MS = 2_000;
/** A system that is back is noticed at most this late. */
const LAST_PAUSE_MS = 30_000;

/** A retry comes up to a fifth later than its delay, and then takes some time. */
const STALE_DELAYS = 1.5;
const MIN_STALE_MS = 10 * 60_000;

/** A schedule (`retry_schedule_seconds`) with shorter delays gets shorter pauses. */
export function circuitLimits(scheduleSeconds: readonly number[]): CircuitLimits {
  const delays = scheduleSeconds.map((seconds) => seconds * 1_000).filter((ms) => ms > 0);
  const firstPauseMs = Math.min(FIRST_PAUSE_MS, ...delays);
  return {
    failures: FAILURES,
    firstPauseMs,
    lastPauseMs: Math.max(firstPauseMs, Math.min(LAST_PAUSE_MS, Math.max(0, ...delays))),
    staleMs: Math.max(MIN_STALE_MS, STALE_DELAYS * Math.max(0, ...delays)),
  };
}

/** What a call says about the other system. `undecided`: nothing, because it asked us to wait or the call was given up. */
export type Verdict = 'worked' | 'failed' | 'undecided';

interface Circuit {
  failures: number;
  /** Null: closed. */
  open: {
    until: number;
    pauseMs: number;
    probing: boolean;
    failedAt: number;
    /** The other system asked for the pause. A call that was in flight and works does not end it. */
    held: boolean;
  } | null;
}

/** Only circuits with a failure and no success since are kept. */
const MAX_KEPT = 10_000;

/** A system that says "at once" and fails again is not believed. */
const SHORTEST_WORD_MS = 1_000;

export class Circuits {
  #limits: CircuitLimits;
  readonly #circuits = new Map<string, Circuit>();

  constructor(limits: CircuitLimits) {
    this.#limits = limits;
  }

  /** For the next failures. A pause that has begun stays as long as it is. */
  setLimits(limits: CircuitLimits): void {
    this.#limits = limits;
  }

  /** What was seen so far no longer counts. */
  forget(name: string): void {
    this.#circuits.delete(name);
  }

  /**
   * How many are open or being probed. A stale circuit does not count: what waited for it was given up, and an alert on
   * this figure would otherwise last until the next restart.
   */
  openAt(now: number): number {
    return this.openNames(now).size;
  }

  openNames(now: number): Set<string> {
    const names = new Set<string>();
    for (const [name, { open }] of this.#circuits) {
      if (open !== null && (open.probing || now - open.failedAt <= this.#limits.staleMs)) names.add(name);
    }
    return names;
  }

  /** Open or being probed. */
  isOpen(name: string): boolean {
    return (this.#circuits.get(name)?.open ?? null) !== null;
  }

  /** 0: pass. Infinity: a probe is in flight, wait for its verdict. */
  waitMs(name: string, now: number): number {
    const open = this.#circuits.get(name)?.open;
    if (!open) return 0;
    return open.probing ? Number.POSITIVE_INFINITY : Math.max(0, open.until - now);
  }

  /**
   * Nobody calls for this long: the other system said so. After that the next call is a probe. A word of a second or more
   * replaces a pause that was only our guess; of several words the longest counts.
   */
  hold(name: string, ms: number, now: number): 'opened' | 'same' {
    const circuit = this.#known(name);
    const { open } = circuit;
    const isGuess = open !== null && !open.held && ms >= SHORTEST_WORD_MS;
    circuit.open = {
      until: isGuess ? now + ms : Math.max(now + ms, open?.until ?? 0),
      pauseMs: open?.pauseMs ?? this.#limits.firstPauseMs,
      probing: open?.probing ?? false,
      failedAt: now,
      held: true,
    };
    return open === null ? 'opened' : 'same';
  }

  /** Call it after `waitMs` said 0. True: this call is the probe. */
  pass(name: string): boolean {
    const open = this.#circuits.get(name)?.open;
    if (!open) return false;
    open.probing = true;
    return true;
  }

  /** `probe` as `pass` returned it. Returns what became of the circuit. */
  settle(name: string, verdict: Verdict, probe: boolean, now: number): 'opened' | 'closed' | 'same' {
    const circuit = this.#circuits.get(name);
    if (probe && circuit?.open) circuit.open.probing = false;
    if (verdict === 'undecided') return 'same';
    if (verdict === 'worked') {
      if (circuit?.open?.held && !probe) return 'same';
      this.#circuits.delete(name);
      return circuit?.open ? 'closed' : 'same';
    }
    if (circuit?.open) {
      // A call that was in flight when the circuit opened says nothing new.
      if (probe) {
        const pauseMs = Math.min(this.#limits.lastPauseMs, circuit.open.pauseMs * 2);
        circuit.open = { until: now + pauseMs, pauseMs, probing: false, failedAt: now, held: false };
      }
      return 'same';
    }
    return this.#count(name, now);
  }

  #count(name: string, now: number): 'opened' | 'same' {
    const circuit = this.#known(name);
    circuit.failures += 1;
    if (circuit.failures < this.#limits.failures) return 'same';
    const pauseMs = this.#limits.firstPauseMs;
    circuit.open = { until: now + pauseMs, pauseMs, probing: false, failedAt: now, held: false };
    return 'opened';
  }

  #known(name: string): Circuit {
    const known = this.#circuits.get(name);
    if (known !== undefined) return known;
    const circuit: Circuit = { failures: 0, open: null };
    const [oldest] = this.#circuits.keys();
    if (this.#circuits.size >= MAX_KEPT && oldest !== undefined) this.#circuits.delete(oldest);
    this.#circuits.set(name, circuit);
    return circuit;
  }
}
