/** Both of this host. */
export interface Clock {
  /** Milliseconds that go on while the process is frozen (SIGSTOP) and never jump; they stop while the machine is suspended. */
  monotonic(): number;
  /** Milliseconds that go on while the whole machine is suspended, and may jump. */
  wall(): number;
}

export const systemClock: Clock = { monotonic: () => performance.now(), wall: () => Date.now() };

/**
 * More than NTP lets a wall clock gain or lose against the monotonic one within half an hour (500 ppm), and less than
 * any deadline of ours.
 */
const CLOCKS_AGREE_MS = 1_000;

/**
 * What time it is by the database, as far as this process has seen. Deadlines of claims, retries and queues are recorded
 * and judged by the database's clock; two hosts whose clocks disagree must still not send the same output at once. Each
 * answer of the database tells its time a moment ago, so that we are late by the answer's way back, never early. From
 * there the monotonic clock goes on: one of this host that is wrong, or set, moves nothing.
 */
export class DatabaseClock {
  readonly #clock: Clock;
  #seen: { readonly logTime: number; readonly monotonic: number; readonly wall: number } | null = null;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Right after the database said it. */
  observe(logTime: number): void {
    this.#seen = { logTime, monotonic: this.#clock.monotonic(), wall: this.#clock.wall() };
  }

  /**
   * The database must be asked: it never was, or the two clocks of this host do not agree on how long ago that is,
   * because one was set or the machine was suspended.
   */
  get inDoubt(): boolean {
    if (this.#seen === null) return true;
    const byWall = this.#clock.wall() - this.#seen.wall;
    return Math.abs(byWall - (this.#clock.monotonic() - this.#seen.monotonic)) > CLOCKS_AGREE_MS;
  }

  /** Before anything was seen: this host's. */
  now(): number {
    if (this.#seen === null) return this.#clock.wall();
    return Math.round(this.#seen.logTime + this.#clock.monotonic() - this.#seen.monotonic);
  }
}
