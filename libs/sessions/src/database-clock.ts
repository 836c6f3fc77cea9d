/** The two clocks of this host. */
export interface Clock {
  /** Milliseconds that never jump. They go on while the process is frozen (SIGSTOP) and stop while the machine is suspended. */
  monotonic(): number;
  /** Milliseconds that go on while the machine is suspended, and may jump. */
  wall(): number;
}

export const systemClock: Clock = { monotonic: () => performance.now(), wall: () => Date.now() };

/**
 * More than a wall clock under NTP gains or loses against the monotonic clock within half an hour (500 ppm), and less than
 * any deadline of ours.
 */
const CLOCKS_AGREE_MS = 1_000;

/**
 * The time of the database, as this process last saw it. Deadlines of claims, retries and queues are recorded and judged by
 * the database's clock, so that two hosts whose clocks disagree never send the same output at the same time. An answer of
 * the database tells its time a moment ago, so this clock is late by the way back of the answer, and never early. From
 * there it goes on with the monotonic clock: a wall clock that is wrong, or set, changes nothing.
 */
export class DatabaseClock {
  readonly #clock: Clock;
  #seen: { readonly logTime: number; readonly monotonic: number; readonly wall: number } | null = null;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Call it right after the database told its time. */
  observe(logTime: number): void {
    this.#seen = { logTime, monotonic: this.#clock.monotonic(), wall: this.#clock.wall() };
  }

  /**
   * True if the database must be asked: it never was, or the two clocks of this host disagree on how long ago that was,
   * because the wall clock was set or the machine was suspended.
   */
  get inDoubt(): boolean {
    if (this.#seen === null) return true;
    const byWall = this.#clock.wall() - this.#seen.wall;
    return Math.abs(byWall - (this.#clock.monotonic() - this.#seen.monotonic)) > CLOCKS_AGREE_MS;
  }

  /** The wall clock of this host, until the database has told its time. */
  now(): number {
    if (this.#seen === null) return this.#clock.wall();
    return Math.round(this.#seen.logTime + this.#clock.monotonic() - this.#seen.monotonic);
  }
}
