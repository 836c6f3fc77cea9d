import type { SessionId } from '@angelia/contracts';
import type { QueuedSession } from '@angelia/event-log';

/** What a session that waits needs. */
export interface Wanted {
  readonly route: string;
  /** Null: not known yet. */
  readonly agent: string | null;
}

/**
 * The sessions that wait for a run on this runner: their ids, one line per route, in the order of arrival. A line is
 *
 *   open     Its sessions wait for a slot of their agent. A slot that comes free goes to the route with the fewest runs
 *            in progress here, among equals to the one served longest ago. So a flood on one route leaves every other
 *            route its share.
 *   blocked  Its route is at its own `max_concurrency`, which all runners share and the log enforces. The line is not
 *            offered slots, so a flood on a limited route takes none from the others. Only its head asks the log again.
 *
 * The list is bounded. A session that does not fit is left to the queue view, and the list is refilled from there: the
 * open lines together (`refill`), a blocked line when it runs out (`refillBlocked`). While sessions are left in the
 * view, hinted ones are left there as well: a flood on one route would otherwise take every entry that comes free.
 *
 * Losing the list loses nothing: the sweep hints again.
 */
export class WaitingList {
  readonly #cap: number;
  readonly #now: () => number;
  /** The route that was served longest ago is first. */
  readonly #open = new Map<string, Line>();
  readonly #blocked = new Map<string, Line>();
  /** Every session in the list, and its route: each is in it once. */
  readonly #routes = new Map<SessionId, string>();
  /** How many are in open lines: only these count against the cap. */
  #inOpenLines = 0;
  #overflowed = false;
  /** When a session was last left to the view (monotonic). */
  #leftAt = 0;
  #refilledAt = Number.NEGATIVE_INFINITY;
  #refilling: Promise<void> | null = null;
  #closed = false;

  constructor({ cap = WAITING_CAP, now = () => performance.now() }: WaitingListOptions = {}) {
    this.#cap = cap;
    this.#now = now;
  }

  /** Puts the session at the end of its route's line, or leaves it to the view. */
  add(id: SessionId, { route, agent }: Wanted): void {
    if (this.#closed) return;
    const blocked = this.#blocked.get(route);
    if (this.#routes.has(id)) {
      if (agent !== null) this.#lineOf(id)?.sessions.set(id, agent);
    } else if (blocked === undefined) {
      if (this.hasRoom) this.#append(id, route, agent);
      else this.leaveToView();
    } else if (blocked.leftInView || blocked.sessions.size >= VIEW_PAGE) blocked.leftInView = true;
    else this.#append(id, route, agent);
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

  /**
   * Takes out the session that gets a free slot of this agent. Null: none of the open lines wants it.
   *
   * @param runsOf how many runs of a route are in progress here
   */
  next(agent: string, runsOf: (route: string) => number): SessionId | null {
    let best: { route: string; line: Line; id: SessionId; runs: number } | null = null;
    for (const [route, line] of this.#open) {
      const runs = runsOf(route);
      if (best !== null && runs >= best.runs) continue;
      const id = firstFor(agent, line);
      if (id !== null) best = { route, line, id, runs };
    }
    if (best === null) return null;
    this.remove(best.id);
    // Served now: behind the other routes.
    if (this.#open.delete(best.route)) this.#open.set(best.route, best.line);
    return best.id;
  }

  remove(id: SessionId): void {
    const route = this.#routes.get(id);
    if (route === undefined) return;
    this.#routes.delete(id);
    this.#blocked.get(route)?.sessions.delete(id);
    const open = this.#open.get(route);
    if (!open?.sessions.delete(id)) return;
    this.#inOpenLines -= 1;
    if (open.sessions.size === 0) this.#open.delete(route);
  }

  /** The log refused this session: its route is full. It stays ahead of those that have not been tried. */
  block(id: SessionId, { route, agent }: Wanted): void {
    if (this.#closed) return;
    if (this.#blocked.has(route)) {
      this.add(id, { route, agent });
      return;
    }
    const waiting = this.#open.get(route)?.sessions ?? [];
    const sessions = new Map([[id, agent] as const, ...waiting]);
    this.#inOpenLines -= this.#open.get(route)?.sessions.size ?? 0;
    this.#open.delete(route);
    this.#blocked.set(route, { sessions, leftInView: false });
    this.#routes.set(id, route);
  }

  /** The route's limit no longer stops its line, which now waits for slots; or nobody is left in it. */
  unblock(route: string): void {
    const line = this.#blocked.get(route);
    if (line === undefined) return;
    this.#blocked.delete(route);
    if (line.leftInView) this.leaveToView();
    if (line.sessions.size === 0) return;
    this.#open.set(route, line);
    this.#inOpenLines += line.sessions.size;
  }

  isBlocked(route: string): boolean {
    return this.#blocked.has(route);
  }

  get blockedRoutes(): readonly string[] {
    return [...this.#blocked.keys()];
  }

  headOfBlocked(route: string): SessionId | null {
    return this.#blocked.get(route)?.sessions.keys().next().value ?? null;
  }

  /** Some session of another route may have been left to the view while a flood fills the list. */
  get refillIsDue(): boolean {
    return this.#overflowed && this.#now() - this.#refilledAt >= VIEW_LAG_MS;
  }

  /** Fills the open lines from the view, one query at a time. `isInHand`: the view lags and still shows it. */
  refill(read: ReadQueue, isInHand: (id: SessionId) => boolean): Promise<void> {
    this.#refilling ??= this.#refill(read, isInHand).finally(() => {
      this.#refilling = null;
    });
    return this.#refilling;
  }

  async #refill(read: ReadQueue, isInHand: (id: SessionId) => boolean): Promise<void> {
    const startedAt = this.#now();
    this.#refilledAt = startedAt;
    const queued = await read(VIEW_PAGE, this.blockedRoutes);
    let left = false;
    for (const { sessionId, route } of queued) {
      const id = sessionId as SessionId;
      if (!isInHand(id) && !this.#addFromView(id, route)) left = true;
    }
    // A full page says nothing about those behind it, even if we have all of it in hand already. A session that was
    // left to the view just before may not have been in it yet.
    if (queued.length >= VIEW_PAGE || left || startedAt - this.#leftAt < VIEW_LAG_MS) return;
    this.#overflowed = false;
  }

  /** False: it stays in the view. A route gets a page at most, so that all of them together stay few. */
  #addFromView(id: SessionId, route: string): boolean {
    if (this.#closed || this.#routes.has(id)) return true;
    const line = this.#blocked.get(route) ?? this.#open.get(route);
    if ((line?.sessions.size ?? 0) >= VIEW_PAGE || this.#inOpenLines >= 2 * this.#cap) return false;
    this.#append(id, route, null);
    return true;
  }

  /** Fills a blocked line from the view if it ran out and some of its sessions were left there. */
  async refillBlocked(route: string, read: (limit: number) => Promise<readonly SessionId[]>): Promise<void> {
    const line = this.#blocked.get(route);
    if (line === undefined || line.sessions.size > 0 || !line.leftInView) return;
    // Reset first: a session that is left to the view during the query may not be in its answer.
    line.leftInView = false;
    try {
      const queued = await read(VIEW_PAGE);
      for (const id of queued) this.add(id, { route, agent: null });
      line.leftInView ||= queued.length >= VIEW_PAGE;
    } catch (error) {
      line.leftInView = true;
      throw error;
    }
  }

  /** Drain: the sweep hints another runner about those that wait. */
  close(): void {
    this.#closed = true;
    this.#open.clear();
    this.#blocked.clear();
    this.#routes.clear();
    this.#inOpenLines = 0;
    this.#overflowed = false;
  }

  #lineOf(id: SessionId): Line | undefined {
    const route = this.#routes.get(id) ?? '';
    return this.#blocked.get(route) ?? this.#open.get(route);
  }

  #append(id: SessionId, route: string, agent: string | null): void {
    this.#routes.set(id, route);
    const blocked = this.#blocked.get(route);
    if (blocked !== undefined) {
      blocked.sessions.set(id, agent);
      return;
    }
    const line = this.#open.get(route) ?? { sessions: new Map(), leftInView: false };
    this.#open.set(route, line);
    line.sessions.set(id, agent);
    this.#inOpenLines += 1;
  }
}

interface WaitingListOptions {
  readonly cap?: number | undefined;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

/** The queue view: each route's longest waiting first, routes taking turns, without `exceptRoutes`. */
type ReadQueue = (
  limit: number,
  exceptRoutes: readonly string[],
) => Promise<readonly Pick<QueuedSession, 'sessionId' | 'route'>[]>;

interface Line {
  /** In the order of arrival, with the agent that each wants. */
  readonly sessions: Map<SessionId, string | null>;
  /** Of a blocked line: some of its sessions are only in the view. */
  leftInView: boolean;
}

function firstFor(agent: string, { sessions }: Line): SessionId | null {
  for (const [id, wanted] of sessions) {
    if (wanted === null || wanted === agent) return id;
  }
  return null;
}

/** Several times the lag that views have in normal operation. */
export const VIEW_LAG_MS = 250;

/**
 * Ids only, 200 bytes each. Large enough that under load a freed slot finds its next session without a query; small
 * enough that a runner does not hoard sessions for which another one has slots.
 */
const WAITING_CAP = 256;

/**
 * One query of the view: a query per 64 sessions is no load. A line that is blocked or refilled holds no more than that,
 * since the next page is one query away.
 */
const VIEW_PAGE = 64;
