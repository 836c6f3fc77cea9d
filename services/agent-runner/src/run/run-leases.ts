import type { Logger } from '@angelia/service-kit';

/** Why a run lost its lease: another runner has it, or it was not renewed in time. */
export type LeaseLoss = 'taken' | 'not_renewed';

export interface HeldLease {
  /** By the monotonic clock, so it is right even after a freeze, before any timer has run. */
  readonly alive: boolean;
  /** Monotonic time at which the lease was certainly held last. */
  readonly since: number;
  /** Stops renewing it: it was given back or lost. */
  drop(): void;
}

interface Holding {
  /** Monotonic time of the request that took or last renewed it. In the database it never expires earlier than that + seconds. */
  since: number;
  readonly onLost: (loss: LeaseLoss) => void;
}

interface RunLeasesOptions {
  /** One statement for all. Returns those that are still held. */
  readonly renew: (resources: readonly string[]) => Promise<readonly string[]>;
  readonly seconds: number;
  readonly logger: Pick<Logger, 'warn'>;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

/** Checked every 1/8 of the lease, renewed every 1/4: three renewals may fail before the run is given up. */
const CHECKS_PER_LEASE = 8;
const CHECKS_PER_RENEWAL = 2;
/**
 * The share of the lease after which a run without a renewal is given up. The next check comes at most 1/8 later, so the
 * run is over at 7/8. The rest is for the abort itself, and for two clocks that do not run at the same speed.
 */
const GIVE_UP_AT = 0.75;

/**
 * Renews the leases of this runner's runs. A holder that cannot renew gives up its run *before* the lease expires, so
 * that two runners never work on one session (single-owner). The generation is the fence for what slips through.
 */
export class RunLeases {
  readonly #options: RunLeasesOptions;
  readonly #held = new Map<string, Holding>();
  readonly #now: () => number;
  #timer: NodeJS.Timeout | null = null;
  #checks = 0;
  #renewing = false;

  constructor(options: RunLeasesOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** `since`: monotonic time at which the request that took it was sent. `onLost` is called at most once. */
  hold(resource: string, since: number, onLost: (loss: LeaseLoss) => void): HeldLease {
    const holding: Holding = { since, onLost };
    this.#held.set(resource, holding);
    // The timer runs only while there is a lease, so that an idle runner does not wake up for nothing.
    this.#timer ??= setInterval(
      () => this.check(),
      (this.#options.seconds * 1000) / CHECKS_PER_LEASE,
    ).unref();
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

  /** What the timer does. Public so that a test need not wait for it. */
  check(): void {
    for (const [resource, holding] of this.#held) {
      if (!this.#inTime(holding)) this.#lose(resource, holding, 'not_renewed');
    }
    this.#checks += 1;
    if (this.#held.size === 0) this.stop();
    if (this.#checks % CHECKS_PER_RENEWAL === 0 && !this.#renewing && this.#held.size > 0) void this.#renew();
  }

  async #renew(): Promise<void> {
    this.#renewing = true;
    const asked = [...this.#held];
    const requestedAt = this.#now();
    try {
      const still = new Set(await this.#options.renew(asked.map(([resource]) => resource)));
      for (const [resource, holding] of asked) {
        if (still.has(resource)) holding.since = requestedAt;
        else if (this.#held.get(resource) === holding) this.#lose(resource, holding, 'taken');
      }
    } catch (error) {
      // The next check renews again, or gives the runs up in time.
      this.#options.logger.warn({ err: error, leases: asked.length }, 'leases not renewed; will try again');
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
