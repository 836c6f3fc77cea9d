/**
 * How many runs this runner takes on at once, per agent (`max_concurrency`), and who waits for a place.
 *
 * A session that is hinted while there is no place waits here, by its id alone, in the order of the hints. The list is
 * small: beyond its cap a session is left to the queue view (`overflowed`), from where sessions are picked, fairly by
 * route, when a place comes free and nobody waits here. From then on hints are left to the view as well, until it was
 * looked through: a flood on one route would otherwise take every place in the list as it comes free. Losing the list loses nothing: the sweep hints again.
 */
export class Room {
  readonly #limits: ReadonlyMap<string, number>;
  readonly #running = new Map<string, number>();
  /** Id -> agent; null while nobody has looked which agent it wants. A Map keeps the order and takes each id once. */
  readonly #waiting = new Map<string, string | null>();
  readonly #cap: number;
  #overflowed = false;
  /** When a session was last left to the view (monotonic). */
  #leftAt = 0;
  #closed = false;

  constructor(limits: ReadonlyMap<string, number>, cap = WAITING_CAP) {
    this.#limits = limits;
    this.#cap = cap;
  }

  /** Takes a place; false when the agent has none left. */
  enter(agent: string): boolean {
    if (this.#closed) return false;
    const running = this.#running.get(agent) ?? 0;
    if (running >= this.#limitOf(agent)) return false;
    this.#running.set(agent, running + 1);
    return true;
  }

  leave(agent: string): void {
    const running = this.#running.get(agent) ?? 0;
    if (running <= 1) this.#running.delete(agent);
    else this.#running.set(agent, running - 1);
  }

  /** False when every agent is at its limit: then a hinted stream need not even be read. */
  get hasPlace(): boolean {
    if (this.#closed) return false;
    for (const [agent, limit] of this.#limits) {
      if ((this.#running.get(agent) ?? 0) < limit) return true;
    }
    return this.#limits.size === 0;
  }

  wait(sessionId: string, agent: string | null): void {
    if (this.#closed) return;
    const known = this.#waiting.has(sessionId);
    if (known || (!this.#overflowed && this.#waiting.size < this.#cap)) {
      this.#waiting.set(sessionId, agent);
    } else {
      this.#overflowed = true;
      this.#leftAt = performance.now();
    }
  }

  /** From the queue view. */
  picked(sessionId: string): void {
    if (!this.#closed && !this.#waiting.has(sessionId)) this.#waiting.set(sessionId, null);
  }

  /** The longest waiting session that may want this agent's place, taken off the list. */
  next(agent: string): string | null {
    for (const [sessionId, wanted] of this.#waiting) {
      if (wanted !== null && wanted !== agent) continue;
      this.#waiting.delete(sessionId);
      return sessionId;
    }
    return null;
  }

  /** Some session was left to the queue view. */
  get overflowed(): boolean {
    return this.#overflowed;
  }

  /**
   * The queue view was looked through at this time, and had nothing more. A session that was left to it just before
   * may not have been in it yet: then it is worth another look.
   */
  caughtUp(lookedAt: number): void {
    if (lookedAt - this.#leftAt >= VIEW_LAG_MS) this.#overflowed = false;
  }

  freePlaces(agent: string): number {
    return this.#closed ? 0 : this.#limitOf(agent) - (this.#running.get(agent) ?? 0);
  }

  /** Drain: no new runs; whoever waits is hinted to another runner by the sweep. */
  close(): void {
    this.#closed = true;
    this.#waiting.clear();
    this.#overflowed = false;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  #limitOf(agent: string): number {
    return this.#limits.get(agent) ?? UNKNOWN_AGENT_LIMIT;
  }
}

/** Several times the lag that views have in normal operation. */
export const VIEW_LAG_MS = 250;

/**
 * Ids only, 100 bytes each. Large enough that under load a freed place finds its next session without a query; small
 * enough that a runner does not hoard sessions which another one has places for.
 */
const WAITING_CAP = 256;

/** An agent that is no longer in the config: its sessions only fail, which is quick. */
const UNKNOWN_AGENT_LIMIT = 16;
