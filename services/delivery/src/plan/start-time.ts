import type { Clock, Sessions } from '@angelia/sessions';

/**
 * When this process started, by the database's clock: recorded events are judged by that clock, and this host's may be wrong.
 * It is learned once. A later answer would be wrong after the machine was suspended, when the monotonic clock stood still.
 */
export class StartTime {
  readonly #sessions: Pick<Sessions, 'now'>;
  readonly #clock: Clock;
  readonly #started: number;
  #at: number | null = null;

  constructor(sessions: Pick<Sessions, 'now'>, clock: Clock) {
    this.#sessions = sessions;
    this.#clock = clock;
    this.#started = clock.monotonic();
  }

  /** Null: the database was not asked yet. */
  get at(): number | null {
    return this.#at;
  }

  /**
   * Early by the time that the database's answer takes, never late. So a claim that was recorded after the start never counts
   * as a predecessor's. A predecessor's claim is older by at least the start of a Node process.
   */
  async learn(): Promise<number> {
    const now = await this.#sessions.now();
    this.#at ??= now - (this.#clock.monotonic() - this.#started);
    return this.#at;
  }
}
