import type { SessionId } from '@angelia/contracts';

/** What a session that waits needs. Both are facts of its creation. */
export interface Wanted {
  readonly route: string;
  readonly agent: string;
}

/**
 * The sessions that wait for a run on this runner: their ids, in lines, in the order of arrival.
 *
 *   open     One line per agent and route, whose sessions wait for a slot of the agent. A slot that comes free goes to the
 *            route with the fewest runs in progress here, among equals to the one served longest ago. So a flood on one
 *            route leaves every other route its share.
 *   blocked  One line per route that is at its own `max_concurrency`, which all runners share and the log enforces. The
 *            line is not offered slots, so a flood on a limited route takes none from the others. Only its head asks the
 *            log again.
 *
 * The list is bounded. A session that does not fit is left to the queue view, and the list is refilled from there: the
 * open lines together (`addFromView`), a blocked line when it runs out. While sessions are left in the view, hinted ones
 * are left there as well: a flood on one route would otherwise take every entry that comes free.
 *
 * Losing the list loses nothing: the sweep hints again.
 */
export class WaitingList {
  readonly #cap: number;
  readonly #now: () => number;
  /** By agent, then by route. Of an agent, the route that was served longest ago is first. */
  readonly #open = new Map<string, Map<string, Set<SessionId>>>();
  /** How many are in the open lines of a route. */
  readonly #openOfRoute = new Map<string, number>();
  readonly #blocked = new Map<string, BlockedLine>();
  /** Every session in the list: each is in it once. */
  readonly #wanted = new Map<SessionId, Wanted>();
  /** How many are in open lines: only these count against the cap. */
  #inOpenLines = 0;
  #overflowed = false;
  /** When a session was last left to the view (monotonic). */
  #leftAt = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor({ cap = WAITING_CAP, now = () => performance.now() }: WaitingListOptions = {}) {
    this.#cap = cap;
    this.#now = now;
  }

  has(id: SessionId): boolean {
    return this.#wanted.has(id);
  }

  /** Puts the session at the end of its line, or leaves it to the view. */
  add(id: SessionId, wanted: Wanted): void {
    if (this.#closed || this.#wanted.has(id)) return;
    const blocked = this.#blocked.get(wanted.route);
    if (blocked !== undefined) this.#addBlocked(blocked, id, wanted);
    else if (this.hasRoom) this.#addOpen(id, wanted);
    else this.leaveToView();
  }

  /** Whether one more session for an open line is kept here, rather than left to the view. */
  get hasRoom(): boolean {
    return !this.#closed && !this.#overflowed && this.#inOpenLines < this.#cap;
  }

  leaveToView(): void {
    if (this.#closed) return;
    this.#overflowed = true;
    this.#leftAt = this.#now();
  }

  /** Some session was left to the view. */
  get overflowed(): boolean {
    return this.#overflowed;
  }

  /** So few wait in open lines that a few moments of work may use them up. */
  get isShort(): boolean {
    return this.#inOpenLines < VIEW_PAGE / 2;
  }

  get isEmpty(): boolean {
    return this.#inOpenLines === 0;
  }

  /** The agents that sessions in open lines wait for. */
  get agents(): readonly string[] {
    return [...this.#open.keys()];
  }

  /**
   * Takes out the session that gets a free slot of this agent. Null: none of the open lines wants it.
   *
   * @param runsOf how many runs of a route are in progress here
   */
  next(agent: string, runsOf: (route: string) => number): SessionId | null {
    const lines = this.#open.get(agent);
    if (lines === undefined) return null;
    let best: { route: string; line: Set<SessionId>; runs: number } | null = null;
    for (const [route, line] of lines) {
      const runs = runsOf(route);
      if (best === null || runs < best.runs) best = { route, line, runs };
    }
    const [id] = best?.line ?? [];
    if (best === null || id === undefined) return null;
    this.remove(id);
    // Served now: behind the other routes.
    if (lines.delete(best.route)) lines.set(best.route, best.line);
    return id;
  }

  remove(id: SessionId): void {
    const wanted = this.#wanted.get(id);
    if (wanted === undefined) return;
    this.#wanted.delete(id);
    const { route, agent } = wanted;
    this.#blocked.get(route)?.sessions.delete(id);
    const lines = this.#open.get(agent);
    const line = lines?.get(route);
    if (lines === undefined || !line?.delete(id)) return;
    this.#countOpen(route, -1);
    if (line.size === 0) lines.delete(route);
    if (lines.size === 0) this.#open.delete(agent);
  }

  /** The log refused this session: its route is full. It stays ahead of those that have not been tried. */
  block(id: SessionId, wanted: Wanted): void {
    const { route } = wanted;
    if (this.#closed) return;
    if (this.#blocked.has(route)) {
      this.add(id, wanted);
      return;
    }
    this.remove(id);
    const waiting = this.#takeOpen(route);
    const blocked: BlockedLine = { sessions: new Set(), leftInView: false };
    this.#blocked.set(route, blocked);
    for (const [one, wants] of [[id, wanted] as const, ...waiting]) this.#addBlocked(blocked, one, wants);
  }

  /** The route's limit no longer stops its line, which now waits for slots; or nobody is left in it. */
  unblock(route: string): void {
    const line = this.#blocked.get(route);
    if (line === undefined) return;
    this.#blocked.delete(route);
    if (line.leftInView) this.leaveToView();
    for (const id of line.sessions) {
      const wanted = this.#wanted.get(id);
      if (wanted !== undefined) this.#addOpen(id, wanted);
    }
  }

  isBlocked(route: string): boolean {
    return this.#blocked.has(route);
  }

  get hasBlockedRoutes(): boolean {
    return this.#blocked.size > 0;
  }

  get blockedRoutes(): readonly string[] {
    return [...this.#blocked.keys()];
  }

  headOfBlocked(route: string): SessionId | null {
    const [head] = this.#blocked.get(route)?.sessions ?? [];
    return head ?? null;
  }

  /** Routes that need nothing from the view now: a page of theirs waits here, or they are blocked. */
  get routesToLeaveOut(): readonly string[] {
    const long = [...this.#openOfRoute].filter(([, waiting]) => waiting >= VIEW_PAGE);
    return [...this.blockedRoutes, ...long.map(([route]) => route)];
  }

  /**
   * Adds a page of the view, which was asked for at `askedAt` and left out the sessions of some routes. Returns how many
   * were new.
   */
  addFromView(
    page: readonly (readonly [SessionId, Wanted])[],
    { askedAt, leftOut, isFull }: { askedAt: number; leftOut: readonly string[]; isFull: boolean },
  ): number {
    if (this.#closed) return 0;
    const before = this.#wanted.size;
    let left = isFull || leftOut.some((route) => !this.#blocked.has(route));
    for (const [id, wanted] of page) if (!this.#addOneFromView(id, wanted)) left = true;
    // A session that was left to the view just before may not have been in it yet.
    this.#overflowed = left || askedAt - this.#leftAt < VIEW_LAG_MS;
    return this.#wanted.size - before;
  }

  /** The blocked line ran out, and some of its sessions were left to the view. */
  needsRefill(route: string): boolean {
    const line = this.#blocked.get(route);
    return line !== undefined && line.sessions.size === 0 && line.leftInView;
  }

  /** Sets whether sessions of a blocked line are only in the view. */
  setLeftInView(route: string, left: boolean): void {
    const line = this.#blocked.get(route);
    if (line !== undefined) line.leftInView = left;
  }

  /** Drain: the sweep hints another runner about those that wait. */
  close(): void {
    this.#closed = true;
    this.#open.clear();
    this.#openOfRoute.clear();
    this.#blocked.clear();
    this.#wanted.clear();
    this.#inOpenLines = 0;
    this.#overflowed = false;
  }

  /** False: it stays in the view. A route gets a page at most, so that all of them together stay few. */
  #addOneFromView(id: SessionId, wanted: Wanted): boolean {
    if (this.#wanted.has(id)) return true;
    const blocked = this.#blocked.get(wanted.route);
    if (blocked !== undefined) {
      this.#addBlocked(blocked, id, wanted);
      return true;
    }
    if ((this.#openOfRoute.get(wanted.route) ?? 0) >= VIEW_PAGE) return false;
    if (this.#inOpenLines >= 2 * this.#cap) return false;
    this.#addOpen(id, wanted);
    return true;
  }

  #addOpen(id: SessionId, wanted: Wanted): void {
    const lines = this.#open.get(wanted.agent) ?? new Map<string, Set<SessionId>>();
    const line = lines.get(wanted.route) ?? new Set();
    this.#open.set(wanted.agent, lines);
    lines.set(wanted.route, line);
    line.add(id);
    this.#wanted.set(id, wanted);
    this.#countOpen(wanted.route, 1);
  }

  #addBlocked(line: BlockedLine, id: SessionId, wanted: Wanted): void {
    if (line.leftInView || line.sessions.size >= BLOCKED_LINE) {
      line.leftInView = true;
      return;
    }
    line.sessions.add(id);
    this.#wanted.set(id, wanted);
  }

  /** Takes the sessions of a route out of its open lines. */
  #takeOpen(route: string): (readonly [SessionId, Wanted])[] {
    const taken: (readonly [SessionId, Wanted])[] = [];
    for (const [agent, lines] of this.#open) {
      for (const id of lines.get(route) ?? []) taken.push([id, { route, agent }]);
    }
    for (const [id] of taken) this.remove(id);
    return taken;
  }

  #countOpen(route: string, by: 1 | -1): void {
    this.#inOpenLines += by;
    const count = (this.#openOfRoute.get(route) ?? 0) + by;
    if (count === 0) this.#openOfRoute.delete(route);
    else this.#openOfRoute.set(route, count);
  }
}

interface WaitingListOptions {
  readonly cap?: number | undefined;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

interface BlockedLine {
  readonly sessions: Set<SessionId>;
  /** Some of its sessions are only in the view. */
  leftInView: boolean;
}

/** Twice the lag that views have in a flood (projection.ts). */
export const VIEW_LAG_MS = 1_000;

/**
 * Ids only, about 200 bytes each: 2 MB. Large enough that a burst of thousands is served from memory. With 256 entries a
 * burst of 2,000 ran at a third of the speed, because most of it went through the view. If another runner gets free slots
 * meanwhile, the sweep hints it about those that wait here, within `sweep_seconds`.
 */
const WAITING_CAP = 10_000;

/**
 * One query of the view. Several times as many as a runner starts while the view lags behind: those are still in the page
 * and are of no use.
 */
export const VIEW_PAGE = 512;

/** A blocked line is served slowly, and the next page is one query away. There may be as many lines as routes. */
export const BLOCKED_LINE = 64;
