import type { EventLog } from '@angelia/event-log';
import type { Clock } from '@angelia/sessions';

/**
 * When this process started, by the database's clock: what is recorded is judged by it, and this host's may be wrong.
 * Not known before the database was asked.
 */
export class StartTime {
  readonly #clock: Clock;
  readonly #started: number;
  #at: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#started = clock.monotonic();
  }

  get at(): number | null {
    return this.#at;
  }

  /** Late by the way of the question at most, never early: what was recorded before the start counts as such. */
  async learn(log: Pick<EventLog, 'now'>): Promise<number> {
    const asked = this.#clock.monotonic();
    const at = (await log.now()) - (asked - this.#started);
    this.#at ??= at;
    return this.#at;
  }
}
