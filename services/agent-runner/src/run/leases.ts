import type { Logger } from '@angelia/service-kit';

/** Why a run lost its lease: somebody else's now, or it could not be renewed in time. */
export type LeaseLoss = 'taken' | 'not_renewed';

export interface HeldLease {
  /** By the monotonic clock: also right after a freeze, before any timer could run. */
  readonly alive: boolean;
  /** Monotonic time at which it was surely held last. */
  readonly since: number;
  /** Given back, or lost: no renewal any more. */
  drop(): void;
}

interface Holding {
  /** Monotonic time of the request that took or last renewed it: the database's expiry is never earlier than that + seconds. */
  since: number;
  readonly onLost: (loss: LeaseLoss) => void;
}

export interface RunLeasesOptions {
  /** One statement for all; returns those that are still held. */
  readonly renew: (resources: readonly string[]) => Promise<readonly string[]>;
  readonly seconds: number;
  readonly logger: Pick<Logger, 'warn'>;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

/** Looked at every 1/8 of the lease, renewed every 1/4: three renewals may fail before the work is given up. */
const LOOKS_PER_LEASE = 8;
const LOOKS_PER_RENEWAL = 2;
/**
 * The share of the lease after which work without a renewal is given up. With the next look at most 1/8 later, it is
 * over at 7/8: what is left is for the abort itself, and for two clocks that do not run at the same speed.
 */
const GIVE_UP_AT = 0.75;

/**
 * Keeps the leases of this runner's runs. A holder that cannot renew gives its work up *before* the lease expires, so
 * that never two are at it; the fence for what slips through is the generation.
 */
export class RunLeases {
  readonly #options: RunLeasesOptions;
  readonly #held = new Map<string, Holding>();
  readonly #now: () => number;
  #timer: NodeJS.Timeout | null = null;
  #looks = 0;
  #renewing = false;

  constructor(options: RunLeasesOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  start(): void {
    this.#timer ??= setInterval(() => this.look(), (this.#options.seconds * 1000) / LOOKS_PER_LEASE);
    this.#timer.unref();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** `since`: when the request that took it was begun (monotonicNow). `onLost` is called once at most. */
  hold(resource: string, since: number, onLost: (loss: LeaseLoss) => void): HeldLease {
    const holding: Holding = { since, onLost };
    this.#held.set(resource, holding);
    const isHeld = () => this.#held.get(resource) === holding;
    const inTime = () => this.#inTime(holding);
    return {
      get alive() {
        return isHeld() && inTime();
      },
      get since() {
        return holding.since;
      },
      drop: () => {
        if (isHeld()) this.#held.delete(resource);
      },
    };
  }

  /** What the timer does; public so that a test need not wait for it. */
  look(): void {
    for (const [resource, holding] of this.#held) {
      if (!this.#inTime(holding)) this.#lose(resource, holding, 'not_renewed');
    }
    this.#looks += 1;
    if (this.#looks % LOOKS_PER_RENEWAL === 0 && !this.#renewing && this.#held.size > 0) void this.#renew();
  }

  async #renew(): Promise<void> {
    this.#renewing = true;
    const asked = [...this.#held];
    const begun = this.#now();
    try {
      const still = new Set(await this.#options.renew(asked.map(([resource]) => resource)));
      for (const [resource, holding] of asked) {
        if (still.has(resource)) holding.since = begun;
        else if (this.#held.get(resource) === holding) this.#lose(resource, holding, 'taken');
      }
    } catch (error) {
      // Not handled by this line: the next look renews again, or gives the work up in time.
      this.#options.logger.warn({ err: error, leases: asked.length }, 'leases could not be renewed');
    } finally {
      this.#renewing = false;
    }
  }

  #inTime(holding: Holding): boolean {
    return this.#now() - holding.since < this.#options.seconds * 1000 * GIVE_UP_AT;
  }

  #lose(resource: string, holding: Holding, loss: LeaseLoss): void {
    this.#held.delete(resource);
    holding.onLost(loss);
  }
}
