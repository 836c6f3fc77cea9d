/** How many runs this runner takes on at once: one slot per run, `max_concurrency` slots per agent. */
export class AgentCapacity {
  #limits: ReadonlyMap<string, number>;
  readonly #used = new Map<string, number>();
  /** Agents without a free slot. */
  readonly #full = new Set<string>();
  #closed = false;

  constructor(limits: ReadonlyMap<string, number>) {
    this.#limits = limits;
  }

  /** Runs in progress keep their slots, also beyond a lowered limit. */
  setLimits(limits: ReadonlyMap<string, number>): void {
    this.#limits = limits;
    this.#full.clear();
    for (const [agent, used] of this.#used) if (used >= this.#limitOf(agent)) this.#full.add(agent);
  }

  /** Its limit was lowered: a slot that comes free must not be passed on. */
  isBeyondLimit(agent: string): boolean {
    return (this.#used.get(agent) ?? 0) > this.#limitOf(agent);
  }

  /** False when the agent has no slot left. */
  take(agent: string): boolean {
    if (!this.hasFreeSlotFor(agent)) return false;
    const used = (this.#used.get(agent) ?? 0) + 1;
    this.#used.set(agent, used);
    if (used >= this.#limitOf(agent)) this.#full.add(agent);
    return true;
  }

  release(agent: string): void {
    const used = (this.#used.get(agent) ?? 0) - 1;
    if (used <= 0) this.#used.delete(agent);
    else this.#used.set(agent, used);
    if (used < this.#limitOf(agent)) this.#full.delete(agent);
  }

  /** Some agent has no free slot: then a hinted session may have to wait. */
  get someAgentIsFull(): boolean {
    return this.#full.size > 0;
  }

  hasFreeSlotFor(agent: string): boolean {
    return !this.#closed && !this.#full.has(agent);
  }

  /** No slot is given out after this. */
  close(): void {
    this.#closed = true;
  }

  get closed(): boolean {
    return this.#closed;
  }

  #limitOf(agent: string): number {
    return this.#limits.get(agent) ?? UNKNOWN_AGENT_LIMIT;
  }
}

/** For an agent that is no longer in the config. Its sessions only fail, which is quick. */
const UNKNOWN_AGENT_LIMIT = 16;
