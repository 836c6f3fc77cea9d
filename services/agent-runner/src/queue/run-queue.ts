import type { SessionId } from '@angelia/contracts';
import type { Queue, Streams } from '@angelia/event-log';
import { AgentCapacity } from './agent-capacity.ts';
import { BLOCKED_LINE, VIEW_LAG_MS, VIEW_PAGE, WaitingList, type Wanted } from './waiting-list.ts';

/** What a session that is tried may use. */
export interface Offer {
  /** The caller holds a slot of the session's agent and passes it on. */
  readonly withSlot?: boolean;
  /** It is the head of its route's blocked line: it may ask the log whether the route still is full. */
  readonly headOfRoute?: boolean;
}

/** What became of a session that was tried. `waits`: it is back in the queue, for a slot or for its route. */
export type Tried = 'started' | 'route_full' | 'waits' | 'nothing_to_do';

interface RunQueueOptions {
  /** `max_concurrency` of each agent. */
  readonly limits: ReadonlyMap<string, number>;
  readonly waitingCap?: number | undefined;
  readonly view: Pick<Queue, 'pick' | 'pickOfRoute'>;
  /** Many at the same time are one query. */
  readonly routeOf: Streams['routeOf'];
  /** Claims the session if it can be started now. */
  readonly tryStart: (id: SessionId, offer: Offer) => Promise<Tried>;
  readonly isInHand: (id: SessionId) => boolean;
  /** Runs work that nobody waits for. */
  readonly inBackground: (work: () => Promise<void>) => void;
}

/**
 * A place for a limited route that comes free at another runner is noticed here after this time; one that comes free
 * here is used at once. It costs one refused append per limited route and second, while a session waits for the route.
 */
const ROUTE_RETRY_MS = 1_000;

/**
 * Which session starts next on this runner: the slots of its agents, and the sessions that wait for one. A slot that comes
 * free goes at once to a session that waits in memory. The queue view is read beside that: for sessions that did not fit
 * in memory, and, when nobody is left here, for those that wait at another runner or nowhere.
 */
export class RunQueue {
  readonly #options: RunQueueOptions;
  readonly #capacity: AgentCapacity;
  readonly #list: WaitingList;
  /** Runs in progress here, by route. */
  readonly #runs = new Map<string, number>();
  /** Blocked routes whose head is being tried. */
  readonly #retrying = new Set<string>();
  #retryTimer: NodeJS.Timeout | null = null;
  #refilling = false;
  /** The view showed nothing that is not here. Asking it again at once would be a loop at full speed. */
  #viewLags = false;
  #refillTimer: NodeJS.Timeout | null = null;

  constructor(options: RunQueueOptions) {
    this.#options = options;
    this.#capacity = new AgentCapacity(options.limits);
    this.#list = new WaitingList({ cap: options.waitingCap });
  }

  /** Another config: sessions that wait get the slots that it adds. */
  setLimits(limits: ReadonlyMap<string, number>): void {
    this.#capacity.setLimits(limits);
    for (const agent of this.#list.agents) this.#startWaiting(agent);
  }

  /** A hinted session may have to wait: its route and agent decide. */
  get mayHaveToWait(): boolean {
    return this.#capacity.someAgentIsFull || this.#list.hasBlockedRoutes;
  }

  hasFreeSlotFor(agent: string): boolean {
    return this.#capacity.hasFreeSlotFor(agent);
  }

  takeSlot(agent: string): boolean {
    return this.#capacity.take(agent);
  }

  isWaiting(id: SessionId): boolean {
    return this.#list.has(id);
  }

  /** It was started, or there is nothing to do for it. */
  remove(id: SessionId): void {
    this.#list.remove(id);
  }

  /** The session's agent has no slot free. If it is the head of a blocked line, the line no longer waits for its route. */
  waitForSlot(id: SessionId, wanted: Wanted): void {
    this.#list.add(id, wanted);
    this.#list.unblock(wanted.route);
    if (this.#list.overflowed) this.#refillLater();
  }

  /** Other sessions of its route are waiting for the route already: it waits behind them. */
  waitForRoute(id: SessionId, wanted: Wanted): void {
    this.#list.add(id, wanted);
  }

  isBlocked(route: string): boolean {
    return this.#list.isBlocked(route);
  }

  /** The log refused the session: its route has as many runs as it may. */
  block(id: SessionId, wanted: Wanted): void {
    this.#list.block(id, wanted);
    this.#retryBlockedLater();
  }

  runStarted(route: string): void {
    this.#runs.set(route, (this.#runs.get(route) ?? 0) + 1);
  }

  /** Passes on the slot of a run that ended, and its place on the route. */
  runEnded({ route, agent }: Wanted): void {
    const runs = (this.#runs.get(route) ?? 0) - 1;
    if (runs > 0) this.#runs.set(route, runs);
    else this.#runs.delete(route);
    this.freeSlot(agent);
    if (this.#list.isBlocked(route)) this.#options.inBackground(() => this.retryRoute(route));
  }

  /** Gives the slot to the session that is next. */
  freeSlot(agent: string): void {
    if (this.#capacity.isBeyondLimit(agent)) {
      this.#capacity.release(agent);
      return;
    }
    const next = this.#next(agent);
    if (next === null) this.#capacity.release(agent);
    else this.#options.inBackground(() => this.#startOneOf(agent, next));
    if (this.#list.overflowed && this.#list.isShort && !this.#viewLags) this.#refill();
  }

  /** Tries the sessions that wait for this route, one after the other, until the log says that it is full. */
  async retryRoute(route: string): Promise<void> {
    if (this.#retrying.has(route)) return;
    this.#retrying.add(route);
    try {
      for (;;) {
        if (this.#list.needsRefill(route)) await this.#refillBlocked(route);
        const head = this.#list.headOfBlocked(route);
        if (head === null) return this.#list.unblock(route);
        const tried = await this.#options.tryStart(head, { headOfRoute: true });
        if (tried === 'route_full' || tried === 'waits') return;
        this.#list.remove(head);
      }
    } finally {
      this.#retrying.delete(route);
    }
  }

  /** No slot is given out after this, and nobody waits here. */
  close(): void {
    this.#capacity.close();
    this.#list.close();
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    if (this.#refillTimer !== null) clearTimeout(this.#refillTimer);
  }

  get closed(): boolean {
    return this.#capacity.closed;
  }

  #next(agent: string): SessionId | null {
    const next = this.#list.next(agent, (route) => this.#runs.get(route) ?? 0);
    // Nobody is left here. More may wait at another runner than it has slots for.
    if (next !== null && this.#list.isEmpty) this.#refillLater();
    return next;
  }

  /** Starts the first session that can be claimed in this slot. One that cannot be does not wait again. */
  async #startOneOf(agent: string, first: SessionId): Promise<void> {
    let started = false;
    try {
      for (
        let next: SessionId | null = first;
        next !== null && !started;
        next = started ? null : this.#next(agent)
      ) {
        started = (await this.#options.tryStart(next, { withSlot: true })) === 'started';
      }
    } finally {
      if (!started) this.#capacity.release(agent);
    }
  }

  /** Reads the view, unless that is under way, and starts what it finds in free slots. */
  #refill(): void {
    if (this.#refilling || this.closed) return;
    this.#refilling = true;
    this.#options.inBackground(async () => {
      try {
        await this.#readView();
        for (const agent of this.#list.agents) this.#startWaiting(agent);
      } finally {
        this.#refilling = false;
        if (this.#list.overflowed) this.#refillLater();
      }
    });
  }

  async #readView(): Promise<void> {
    const askedAt = performance.now();
    const leftOut = this.#list.routesToLeaveOut;
    const queued = await this.#options.view.pick(VIEW_PAGE, leftOut);
    // The view lags: it still shows what is in hand.
    const news = queued
      .map(({ sessionId }) => sessionId as SessionId)
      .filter((id) => !this.#options.isInHand(id));
    const page = await this.#withWanted(news);
    const added = this.#list.addFromView(
      page.filter(([id]) => !this.#options.isInHand(id)),
      { askedAt, leftOut, isFull: queued.length >= VIEW_PAGE },
    );
    this.#viewLags = added === 0;
  }

  #startWaiting(agent: string): void {
    while (this.#capacity.hasFreeSlotFor(agent)) {
      const next = this.#next(agent);
      if (next === null) return;
      this.#capacity.take(agent);
      this.#options.inBackground(() => this.#startOneOf(agent, next));
    }
  }

  async #refillBlocked(route: string): Promise<void> {
    // Reset first: a session that is left to the view during the query may not be in its answer.
    this.#list.setLeftInView(route, false);
    try {
      const queued = await this.#options.view.pickOfRoute(route, BLOCKED_LINE);
      const ids = queued.map(({ sessionId }) => sessionId as SessionId);
      for (const [id, wanted] of await this.#withWanted(ids)) this.#list.add(id, wanted);
      if (queued.length >= BLOCKED_LINE) this.#list.setLeftInView(route, true);
    } catch (error) {
      this.#list.setLeftInView(route, true);
      throw error;
    }
  }

  async #withWanted(ids: readonly SessionId[]): Promise<(readonly [SessionId, Wanted])[]> {
    const wanted = await Promise.all(ids.map((id) => this.#options.routeOf(id)));
    return ids.flatMap((id, n) => {
      const wants = wanted[n];
      return wants == null ? [] : [[id, wants] as const];
    });
  }

  /** The view lags, so a session that was left to it just now may not be in it yet. */
  #refillLater(): void {
    if (this.closed) return;
    this.#refillTimer ??= setTimeout(() => {
      this.#refillTimer = null;
      this.#viewLags = false;
      this.#refill();
    }, VIEW_LAG_MS).unref();
  }

  /** Places for a route come free at other runners as well. */
  #retryBlockedLater(): void {
    this.#retryTimer ??= setTimeout(() => {
      this.#retryTimer = null;
      const routes = this.#list.blockedRoutes;
      for (const route of routes) this.#options.inBackground(() => this.retryRoute(route));
      if (routes.length > 0) this.#retryBlockedLater();
    }, ROUTE_RETRY_MS).unref();
  }
}
