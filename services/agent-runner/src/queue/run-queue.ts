import type { SessionId } from '@angelia/contracts';
import type { Queue } from '@angelia/event-log';
import { AgentCapacity } from './agent-capacity.ts';
import { VIEW_LAG_MS, WaitingList, type Wanted } from './waiting-list.ts';

/** What a session that is tried may use. */
export interface Offer {
  /** The caller holds a slot of this agent and passes it on. */
  readonly slotOf?: string;
  /** It is the head of its route's blocked line: it may ask the log whether the route still is full. */
  readonly headOfRoute?: boolean;
}

/** What became of a session that was tried. `waits`: it is back in the queue, for a slot or for its route. */
export type Tried =
  | { readonly outcome: 'started'; readonly agent: string }
  | { readonly outcome: 'route_full' | 'waits' | 'nothing_to_do' };

interface RunQueueOptions {
  /** `max_concurrency` of each agent. */
  readonly limits: ReadonlyMap<string, number>;
  readonly waitingCap?: number | undefined;
  readonly view: Pick<Queue, 'pick' | 'pickOfRoute'>;
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

/** Which session starts next on this runner: the slots of its agents, and the sessions that wait for one. */
export class RunQueue {
  readonly #options: RunQueueOptions;
  readonly #capacity: AgentCapacity;
  readonly #list: WaitingList;
  /** Runs in progress here, by route. */
  readonly #runs = new Map<string, number>();
  /** Blocked routes whose head is being tried. */
  readonly #retrying = new Set<string>();
  #retryTimer: NodeJS.Timeout | null = null;

  constructor(options: RunQueueOptions) {
    this.#options = options;
    this.#capacity = new AgentCapacity(options.limits);
    this.#list = new WaitingList({ cap: options.waitingCap });
  }

  get hasFreeSlot(): boolean {
    return this.#capacity.hasFreeSlot;
  }

  hasFreeSlotFor(agent: string): boolean {
    return this.#capacity.hasFreeSlotFor(agent);
  }

  takeSlot(agent: string): boolean {
    return this.#capacity.take(agent);
  }

  /** Whether one more session is kept here, rather than left to the queue view. */
  get hasRoom(): boolean {
    return this.#list.hasRoom;
  }

  leaveToView(): void {
    this.#list.leaveToView();
  }

  /** The session's agent has no slot free. If it is the head of a blocked line, the line no longer waits for its route. */
  waitForSlot(id: SessionId, wanted: Wanted): void {
    this.#list.add(id, wanted);
    this.#list.unblock(wanted.route);
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
  runEnded({ route, agent }: { readonly route: string; readonly agent: string }): void {
    const runs = (this.#runs.get(route) ?? 0) - 1;
    if (runs > 0) this.#runs.set(route, runs);
    else this.#runs.delete(route);
    this.freeSlot(agent);
    if (this.#list.isBlocked(route)) this.#options.inBackground(() => this.retryRoute(route));
  }

  /** Gives the slot to the session that is next. */
  freeSlot(agent: string): void {
    // If a refill is due, it comes first: a session in the view may have more of a claim to the slot.
    const next = this.#list.refillIsDue ? null : this.#next(agent);
    if (next === null && !this.#list.overflowed) this.#capacity.release(agent);
    else this.#options.inBackground(() => this.#passOn(agent, next));
  }

  /** Tries the sessions that wait for this route, one after the other, until the log says that it is full. */
  async retryRoute(route: string): Promise<void> {
    if (this.#retrying.has(route)) return;
    this.#retrying.add(route);
    try {
      for (;;) {
        await this.#list.refillBlocked(route, async (limit) =>
          (await this.#options.view.pickOfRoute(route, limit)).map(({ sessionId }) => sessionId as SessionId),
        );
        const head = this.#list.headOfBlocked(route);
        if (head === null) return this.#list.unblock(route);
        const { outcome } = await this.#options.tryStart(head, { headOfRoute: true });
        if (outcome === 'route_full' || outcome === 'waits') return;
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
  }

  get closed(): boolean {
    return this.#capacity.closed;
  }

  #next(agent: string): SessionId | null {
    return this.#list.next(agent, (route) => this.#runs.get(route) ?? 0);
  }

  async #passOn(agent: string, first: SessionId | null): Promise<void> {
    try {
      if (await this.#startOneOf(agent, first)) return;
      if (this.#list.overflowed) {
        const { view, isInHand } = this.#options;
        await this.#list.refill((limit, exceptRoutes) => view.pick(limit, exceptRoutes), isInHand);
        if (await this.#startOneOf(agent, this.#next(agent))) return;
      }
    } catch (error) {
      this.#capacity.release(agent);
      throw error;
    }
    this.#capacity.release(agent);
    if (this.#list.overflowed) this.#refillLater(agent);
  }

  /** Starts the first session that can be claimed in this slot. One that cannot be does not wait again. */
  async #startOneOf(agent: string, first: SessionId | null): Promise<boolean> {
    for (let next = first; next !== null; next = this.#next(agent)) {
      const tried = await this.#options.tryStart(next, { slotOf: agent });
      if (tried.outcome === 'started' && tried.agent === agent) return true;
    }
    return false;
  }

  /** The view lags: it showed only what is taken already. Asking it again at once would be a loop at full speed. */
  #refillLater(agent: string): void {
    const refill = () => {
      if (this.#list.overflowed && this.#capacity.take(agent)) this.freeSlot(agent);
    };
    setTimeout(refill, VIEW_LAG_MS).unref();
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
