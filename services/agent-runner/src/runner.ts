import type { Config, HolderId, SessionId } from '@angelia/contracts';
import { sessionId } from '@angelia/contracts';
import type { Leases, LogStatus, Queue, Streams } from '@angelia/event-log';
import type { CallbackLinks, Logger } from '@angelia/service-kit';
import type { Loaded, Sessions } from '@angelia/sessions';
import { context, ROOT_CONTEXT } from '@opentelemetry/api';
import type { PostToAgent } from './agents/http/agent-request.ts';
import { claim, expire, judge } from './claim/claim.ts';
import type { Models } from './models/provide-models.ts';
import { Room, VIEW_LAG_MS } from './queue/room.ts';
import { RouteLines } from './queue/route-lines.ts';
import { RunLeases } from './run/leases.ts';
import { type RunDeps, runTurn } from './run/run-turn.ts';
import { type RunStop, StopSwitch } from './run/stop-signal.ts';
import { type Pings, RunWatch } from './run/stream-follower.ts';
import type { Toolsets } from './tools/tool-set.ts';

export const RUNNER = Symbol('RUNNER');

export interface RunnerOptions {
  readonly config: Config;
  readonly models: Models;
  readonly toolsets: Toolsets;
  readonly callbacks: CallbackLinks | null;
  readonly postToAgent: PostToAgent;
  /** Says that something was committed, by whichever service. */
  readonly pings: Pings;
  readonly sessions: Pick<Sessions, 'load' | 'refresh' | 'execute'>;
  readonly log: {
    readonly leases: Pick<Leases, 'read' | 'renew'>;
    readonly status: Pick<LogStatus, 'lastAwayAt'>;
    readonly queue: Pick<Queue, 'pick' | 'pickOfRoute'>;
    readonly streams: Pick<Streams, 'routeOf'>;
  };
  readonly holder: HolderId;
  readonly logger: Logger;
  /** Sessions that may wait for a place here; default: see room.ts. */
  readonly waitingCap?: number;
  /** How long a result of process-watcher may be late; default: see run-tools.ts. */
  readonly watcherGraceSeconds?: number;
}

/** A session that this runner looks at or runs. */
interface AtWork {
  /** It was hinted meanwhile: look once more when this is over. */
  again: boolean;
  readonly stop: StopSwitch;
}

/** As many as one look at the queue view brings: a query per 64 sessions is no load. */
const PICKED_AT_ONCE = 64;
/**
 * A place of a limited route that came free at another runner is noticed here after so long; one of this runner's own
 * goes on at once. Costs an append that is refused, per limited route and second, while somebody waits for it.
 */
const LINE_TRIAL_MS = 1_000;

/**
 * From a hinted session to its end. A hinted session is
 *
 *   looked at --nothing to do--> left alone
 *             --its turn waited too long to be started--> expired
 *             --no place for its agent--> waits in the room (or in the queue view) --a place comes free--> looked at
 *             --no place for its route (max_concurrency)--> waits in the route's line --one comes free--> looked at
 *             --claimed--> running --its turn is answered, or it was stopped--> left; its place goes to who waits
 *
 * Each session is in hand once: a hint for one that is makes it be looked at again when the hand is free.
 */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #deps: RunDeps;
  readonly #room: Room;
  readonly #leases: RunLeases;
  readonly #watch: RunWatch;
  readonly #atWork = new Map<SessionId, AtWork>();
  #idle: (() => void)[] = [];
  #picking: Promise<void> | null = null;
  readonly #lines = new RouteLines();
  #lineTrial: NodeJS.Timeout | null = null;
  /** Some session may expire in the queue: then a hint of the sweep is looked into even when there is no place. */
  #queueMayExpire: boolean;

  constructor(options: RunnerOptions) {
    const { config, holder, log, logger } = options;
    this.#options = options;
    this.#room = new Room(
      new Map(Object.entries(config.agents).map(([name, agent]) => [name, agent.max_concurrency])),
      options.waitingCap,
    );
    this.#leases = new RunLeases({
      renew: (resources) => log.leases.renew(resources, holder, config.timing.lease_seconds),
      seconds: config.timing.lease_seconds,
      logger,
    });
    this.#leases.start();
    this.#watch = new RunWatch(options);
    this.#deps = { ...options, leases: this.#leases, watch: this.#watch };
    this.#queueMayExpire = Object.values(config.routes).some(
      (route) => route.max_queue_seconds !== undefined,
    );
  }

  /** Resolves when the session is claimed, or waits for a place, or there is nothing to do. Throws what the log throws. */
  async look(id: SessionId): Promise<void> {
    if (this.#room.closed) throw new Draining('this runner goes down: another one takes it');
    const inHand = this.#atWork.get(id);
    if (inHand !== undefined) inHand.again = true;
    else if (!this.#room.hasPlace) await this.#wait(id);
    else await this.#begin(id, null);
  }

  /** Behind the others of its route. Which one that is is all that is read of it now. */
  async #wait(id: SessionId): Promise<void> {
    if (!this.#room.hasWaitingRoom) return this.#room.leaveToView();
    const wanted = await this.#options.log.streams.routeOf(id);
    if (wanted === null) return;
    if (this.#room.closed) throw new Draining('this runner goes down: another one takes it');
    const inHand = this.#atWork.get(id);
    if (inHand !== undefined) inHand.again = true;
    // One may have come free meanwhile.
    else if (this.#room.hasPlaceFor(wanted.agent)) await this.#begin(id, null);
    else this.#room.wait(id, wanted);
  }

  /** Like `look`, for a hint of the timers or the sweep: what waited too long expires, place or no place. */
  async lookAtDue(id: SessionId): Promise<void> {
    const full = !this.#room.closed && !this.#room.hasPlace && !this.#atWork.has(id);
    if (!full || !this.#queueMayExpire) return this.look(id);
    await this.#begin(id, null);
  }

  /** How many sessions are in hand. */
  get size(): number {
    return this.#atWork.size;
  }

  /** The session is said to be cancelled. Only the event counts: if it is there, what runs is stopped at once. */
  cancel(id: SessionId): void {
    this.#aside(() => this.#watch.look(id));
  }

  /** No new runs from now on. */
  close(): void {
    this.#room.close();
    this.#lines.clear();
    if (this.#lineTrial !== null) clearTimeout(this.#lineTrial);
  }

  /** Stops every run that is left; each is handed over by an event. */
  interruptAll(): void {
    for (const id of this.#atWork.keys()) this.#stop(id, { kind: 'drain' });
  }

  /** Resolves when nothing is in hand. */
  async idle(): Promise<void> {
    if (this.#atWork.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** After the drain: renewals end with the process otherwise. */
  stopRenewing(): void {
    this.#leases.stop();
  }

  /**
   * Takes the session in hand and claims it, if that is what the log asks for. `place`: the agent whose place the
   * caller holds and offers. `inLine`: it is the first of its route's line.
   */
  async #begin(id: SessionId, place: string | null, inLine = false): Promise<Begun> {
    const inHand: AtWork = { again: false, stop: new StopSwitch() };
    this.#atWork.set(id, inHand);
    let begun: Begun = null;
    try {
      begun = await this.#claim(id, place, inLine, inHand);
    } finally {
      if (begun === null || begun === 'full') this.#letGo(id, inHand);
    }
    return begun;
  }

  async #claim(id: SessionId, place: string | null, inLine: boolean, inHand: AtWork): Promise<Begun> {
    const loaded = await this.#options.sessions.load(id);
    const { agent, route } = loaded.state.created ?? {};
    if (agent === undefined || route === undefined) return null;
    this.#queueMayExpire ||= loaded.state.turns.some((turn) => turn.queueDeadline !== null);
    const verdict = await judge(loaded, this.#options);
    if (verdict.action === 'expire') {
      inHand.again ||= hasMoreTurns(await expire(loaded, verdict, this.#options));
    }
    if (verdict.action !== 'resume') return null;
    if (!inLine && this.#lines.has(route)) {
      this.#lines.wait(route, id);
      return null;
    }
    if (agent !== place && !this.#room.enter(agent)) {
      this.#room.wait(id, { route, agent });
      return null;
    }
    try {
      const claimed = await claim(loaded, verdict, this.#options);
      if (claimed === 'full') {
        this.#lines.wait(route, id);
        this.#tryLinesLater();
      } else if (claimed !== null) {
        this.#room.began(route);
        void this.#run(id, { agent, route }, inHand, () => runTurn(claimed, inHand.stop, this.#deps));
        return { in: agent };
      }
      if (agent !== place) this.#leave(agent);
      return claimed;
    } catch (error) {
      if (agent !== place) this.#leave(agent);
      throw error;
    }
  }

  async #run(
    id: SessionId,
    { agent, route }: { readonly agent: string; readonly route: string },
    inHand: AtWork,
    work: () => Promise<Loaded | null>,
  ): Promise<void> {
    try {
      const after = await work();
      inHand.again ||= hasMoreTurns(after);
    } catch (error) {
      // The run stays open in the log; when its lease is over, the sweep has it resumed.
      this.#options.logger.error({ err: error, session_id: id }, 'a run could not be carried on');
    } finally {
      this.#room.finished(route);
      this.#letGo(id, inHand);
      this.#leave(agent);
      if (this.#lines.has(route)) this.#aside(() => this.#tryLine(route));
    }
  }

  /** Whoever waits for this route, one after the other, until the log says that it is full. */
  #tryLine(route: string): Promise<void> {
    return this.#lines.tryOut(
      route,
      async (next) => {
        const id = sessionId(next);
        const inHand = this.#atWork.get(id);
        if (inHand !== undefined) inHand.again = true;
        else if ((await this.#begin(id, null, true)) === 'full') return false;
        return true;
      },
      async (limit) =>
        (await this.#options.log.queue.pickOfRoute(route, limit)).map((queued) => queued.sessionId),
    );
  }

  /** Places come free at other runners, too. */
  #tryLinesLater(): void {
    this.#lineTrial ??= setTimeout(() => {
      this.#lineTrial = null;
      for (const route of this.#lines.routes) this.#aside(() => this.#tryLine(route));
      if (this.#lines.routes.length > 0) this.#tryLinesLater();
    }, LINE_TRIAL_MS).unref();
  }

  #letGo(id: SessionId, inHand: AtWork): void {
    this.#atWork.delete(id);
    if (inHand.again && !this.#room.closed) this.#aside(() => this.look(id));
    if (this.#atWork.size > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Gives the place to whoever waits for it. */
  #leave(agent: string): void {
    // Where it is time to look at the view, that comes first: somebody there may have more of a claim to the place.
    const next = this.#room.pickIsDue ? null : this.#room.next(agent);
    if (next === null && !this.#room.overflowed) this.#room.leave(agent);
    else this.#aside(() => this.#handOn(agent, next));
  }

  async #handOn(agent: string, first: string | null): Promise<void> {
    try {
      if (await this.#startOneOf(agent, first)) return;
      if (this.#room.overflowed) {
        await this.#pick();
        if (await this.#startOneOf(agent, this.#room.next(agent))) return;
      }
    } catch (error) {
      this.#room.leave(agent);
      throw error;
    }
    this.#room.leave(agent);
    if (this.#room.overflowed) this.#lookAtQueueLater(agent);
  }

  /** Whoever waits first and can be claimed; what cannot be is not waited for again. */
  async #startOneOf(agent: string, first: string | null): Promise<boolean> {
    for (let next = first; next !== null; next = this.#room.next(agent)) {
      const id = sessionId(next);
      const inHand = this.#atWork.get(id);
      if (inHand !== undefined) inHand.again = true;
      else if (startedIn(await this.#begin(id, agent)) === agent) return true;
    }
    return false;
  }

  /** The view showed only what is taken already: it lags. Asking it again at once would be a loop at full speed. */
  #lookAtQueueLater(agent: string): void {
    const look = () => {
      if (this.#room.overflowed && this.#room.enter(agent)) this.#leave(agent);
    };
    setTimeout(look, VIEW_LAG_MS).unref();
  }

  /** Fills the room's list from the queue view, one query at a time. */
  #pick(): Promise<void> {
    this.#picking ??= this.#pickNow().finally(() => {
      this.#picking = null;
    });
    return this.#picking;
  }

  async #pickNow(): Promise<void> {
    const lookedAt = performance.now();
    this.#room.lookingAtView();
    // Who stands in the line of a full route would only be sent back to it.
    const queued = await this.#options.log.queue.pick(PICKED_AT_ONCE, this.#lines.routes);
    const news = queued.filter((session) => !this.#atWork.has(sessionId(session.sessionId)));
    const left = news.filter(({ sessionId: id, route }) => !this.#room.picked(id, route));
    // The view lags a little: also a page full of what we have in hand says nothing about those behind it.
    if (queued.length < PICKED_AT_ONCE && left.length === 0) this.#room.caughtUp(lookedAt);
  }

  /**
   * What nobody waits for, outside of the trace of the session that gave the occasion. A failure is the log's (it is
   * away): the sweep hints these sessions again.
   */
  #aside(work: () => Promise<void>): void {
    context
      .with(ROOT_CONTEXT, work)
      .catch((error: unknown) =>
        this.#options.logger.warn({ err: error }, 'a queued session was not taken up'),
      );
  }

  #stop(id: SessionId, reason: RunStop): void {
    this.#atWork.get(id)?.stop.press(reason);
  }
}

/** A run was started, in a place of this agent; its route is full; or there was nothing to do, or no place. */
type Begun = { readonly in: string } | 'full' | null;

function startedIn(begun: Begun): string | null {
  return begun === null || begun === 'full' ? null : begun.in;
}

/** Thrown for a hint that comes while the runner drains. Not acked, it is given to another replica. */
class Draining extends Error {
  override readonly name = 'Draining';
  readonly code = 'draining';
  readonly retryable = true;
}

/** Further turns wait in order: each is claimed anew, as another runner may have more room for it. */
function hasMoreTurns(after: Loaded | null): boolean {
  return after !== null && after.state.ended === null && after.state.turns.length > 0;
}
