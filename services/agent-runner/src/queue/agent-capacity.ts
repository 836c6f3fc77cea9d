/** How many runs this runner takes on at once: one slot per run, `max_concurrency` slots per agent. */
export class AgentCapacity {
  readonly #limits: ReadonlyMap<string, number>;
  readonly #used = new Map<string, number>();
  #closed = false;

  constructor(limits: ReadonlyMap<string, number>) {
    this.#limits = limits;
  }

  /** False when the agent has no slot left. */
  take(agent: string): boolean {
    if (!this.hasFreeSlotFor(agent)) return false;
    this.#used.set(agent, (this.#used.get(agent) ?? 0) + 1);
    return true;
  }

  release(agent: string): void {
    const used = this.#used.get(agent) ?? 0;
    if (used <= 1) this.#used.delete(agent);
    else this.#used.set(agent, used - 1);
  }

  /** False when every agent is at its limit: then a hinted stream need not even be read. */
  get hasFreeSlot(): boolean {
    if (this.#closed) return false;
    for (const agent of this.#limits.keys()) {
      if (this.hasFreeSlotFor(agent)) return true;
    }
    return this.#limits.size === 0;
  }

  hasFreeSlotFor(agent: string): boolean {
    const limit = this.#limits.get(agent) ?? UNKNOWN_AGENT_LIMIT;
    return !this.#closed && (this.#used.get(agent) ?? 0) < limit;
  }

  /** No slot is given out after this. */
  close(): void {
    this.#closed = true;
  }

  get closed(): boolean {
    return this.#closed;
  }
}

/** For an agent that is no longer in the config. Its sessions only fail, which is quick. */
const UNKNOWN_AGENT_LIMIT = 16;
