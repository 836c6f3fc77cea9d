import { type Clock, systemClock } from './send-window.ts';

/**
 * What time it is by the database, as far as this process has seen. Deadlines of claims and times of retries are
 * recorded by the database's clock; two hosts whose clocks disagree must still not send the same output at once. Each
 * append of ours tells us the database's time a moment ago, so that we are late by the answer's way back, never early.
 */
export class LogClock {
  readonly #clock: Clock;
  #aheadMs = 0;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Right after an append of ours: what it was recorded at. */
  observe(recordedAt: number): void {
    this.#aheadMs = recordedAt - this.#clock.wall();
  }

  now(): number {
    return this.#clock.wall() + this.#aheadMs;
  }
}
