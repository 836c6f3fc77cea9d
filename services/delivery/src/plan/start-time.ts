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

  /** How long ago this process started. */
  get elapsedMs(): number {
    return this.#clock.monotonic() - this.#started;
  }

  /**
   * Late by the time that the question takes, never early: a claim that a predecessor recorded right before our start must
   * count as older. At the start the event loop is busy, and the answer is read much later than it was given.
   */
  async learn(): Promise<number> {
    const askedAt = this.#clock.monotonic();
    const now = await this.#sessions.now();
    this.#at ??= now - (askedAt - this.#started);
    return this.#at;
  }
}
