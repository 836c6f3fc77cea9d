/**
 * How many runs this runner takes on at once, per agent (`max_concurrency`), and who waits for a place.
 *
 * A session that is hinted while there is no place waits here, by its id alone, behind the others of its route. A place
 * that comes free goes to the route with the fewest runs at work here, among equals to the one that was served longest
 * ago: a flood on one route leaves each other route its share of the places.
 *
 * The list is small: beyond its cap a session is left to the queue view (`overflowed`), from where sessions are picked,
 * routes taking turns, when a place comes free and the last look is a while ago or nobody waits here. Until the view was
 * looked through, hints are left to it as well: a flood on one route would otherwise take every place in the list as
 * it comes free. Losing the list loses nothing: the sweep hints again.
 */
export class Room {
  readonly #limits: ReadonlyMap<string, number>;
  readonly #running = new Map<string, number>();
  /** Runs at work, by route. */
  readonly #atWork = new Map<string, number>();
  /** Route -> id -> agent; null while nobody has looked which agent it wants. The route served longest ago is first. */
  readonly #lines = new Map<string, Map<string, string | null>>();
  /** Id -> route: takes each id once. */
  readonly #waiting = new Map<string, string>();
  readonly #cap: number;
  #overflowed = false;
  /** When a session was last left to the view (monotonic). */
  #leftAt = 0;
  #pickedAt = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(limits: ReadonlyMap<string, number>, cap = WAITING_CAP) {
    this.#limits = limits;
    this.#cap = cap;
  }

  /** Takes a place; false when the agent has none left. */
  enter(agent: string): boolean {
    if (!this.hasPlaceFor(agent)) return false;
    this.#running.set(agent, (this.#running.get(agent) ?? 0) + 1);
    return true;
  }

  leave(agent: string): void {
    decrement(this.#running, agent);
  }

  /** A run of this route is at work in a place. */
  began(route: string): void {
    this.#atWork.set(route, (this.#atWork.get(route) ?? 0) + 1);
  }

  finished(route: string): void {
    decrement(this.#atWork, route);
  }

  /** False when every agent is at its limit: then a hinted stream need not even be read. */
  get hasPlace(): boolean {
    if (this.#closed) return false;
    for (const agent of this.#limits.keys()) {
      if (this.hasPlaceFor(agent)) return true;
    }
    return this.#limits.size === 0;
  }

  hasPlaceFor(agent: string): boolean {
    return !this.#closed && (this.#running.get(agent) ?? 0) < this.#limitOf(agent);
  }

  /** Whether one more would be let in, or left to the queue view. */
  get hasWaitingRoom(): boolean {
    return !this.#closed && !this.#overflowed && this.#waiting.size < this.#cap;
  }

  wait(sessionId: string, wanted: Wanted): void {
    if (this.#closed) return;
    if (this.#waiting.has(sessionId) || this.hasWaitingRoom) this.#stand(sessionId, wanted);
    else this.leaveToView();
  }

  leaveToView(): void {
    if (this.#closed) return;
    this.#overflowed = true;
    this.#leftAt = performance.now();
  }

  /**
   * From the queue view. Each route has a few here at most, so that all of them together stay few. False: it stays in
   * the view, which is then not looked through yet.
   */
  picked(sessionId: string, route: string): boolean {
    if (this.#closed || this.#waiting.has(sessionId)) return true;
    if ((this.#lines.get(route)?.size ?? 0) >= PICKED_PER_ROUTE) return false;
    if (this.#waiting.size >= 2 * this.#cap) return false;
    this.#stand(sessionId, { route, agent: null });
    return true;
  }

  /** The session that may want this agent's place and has waited longest on the route whose turn it is. */
  next(agent: string): string | null {
    let best: { route: string; id: string; atWork: number } | null = null;
    for (const [route, line] of this.#lines) {
      const atWork = this.#atWork.get(route) ?? 0;
      if (best !== null && atWork >= best.atWork) continue;
      const id = firstFor(agent, line);
      if (id !== null) best = { route, id, atWork };
    }
    if (best === null) return null;
    this.#take(best.id, best.route);
    return best.id;
  }

  /** Some session was left to the queue view. */
  get overflowed(): boolean {
    return this.#overflowed;
  }

  /** Somebody of another route may have been left to the view while a flood fills the list: time to look there. */
  get pickIsDue(): boolean {
    return this.#overflowed && performance.now() - this.#pickedAt >= VIEW_LAG_MS;
  }

  lookingAtView(): void {
    this.#pickedAt = performance.now();
  }

  /**
   * The queue view was looked through at this time, and had nothing more. A session that was left to it just before
   * may not have been in it yet: then it is worth another look.
   */
  caughtUp(lookedAt: number): void {
    if (lookedAt - this.#leftAt >= VIEW_LAG_MS) this.#overflowed = false;
  }

  /** Drain: no new runs; whoever waits is hinted to another runner by the sweep. */
  close(): void {
    this.#closed = true;
    this.#waiting.clear();
    this.#lines.clear();
    this.#overflowed = false;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  #stand(id: string, { route, agent }: Wanted): void {
    const line = this.#lines.get(route) ?? new Map<string, string | null>();
    this.#lines.set(route, line);
    line.set(id, agent);
    this.#waiting.set(id, route);
  }

  #take(id: string, route: string): void {
    this.#waiting.delete(id);
    const line = this.#lines.get(route);
    line?.delete(id);
    // Served now: behind the others.
    this.#lines.delete(route);
    if (line !== undefined && line.size > 0) this.#lines.set(route, line);
  }

  #limitOf(agent: string): number {
    return this.#limits.get(agent) ?? UNKNOWN_AGENT_LIMIT;
  }
}

export interface Wanted {
  readonly route: string;
  /** Null: not known yet. */
  readonly agent: string | null;
}

function firstFor(agent: string, line: ReadonlyMap<string, string | null>): string | null {
  for (const [id, wanted] of line) {
    if (wanted === null || wanted === agent) return id;
  }
  return null;
}

function decrement(counts: Map<string, number>, name: string): void {
  const count = counts.get(name) ?? 0;
  if (count <= 1) counts.delete(name);
  else counts.set(name, count - 1);
}

/** Several times the lag that views have in normal operation. */
export const VIEW_LAG_MS = 250;

/**
 * Ids only, 200 bytes each. Large enough that under load a freed place finds its next session without a query; small
 * enough that a runner does not hoard sessions which another one has places for.
 */
const WAITING_CAP = 256;
/** As many as one look at the view brings in all: more of one route would only wait here instead of there. */
const PICKED_PER_ROUTE = 64;

/** An agent that is no longer in the config: its sessions only fail, which is quick. */
const UNKNOWN_AGENT_LIMIT = 16;
