import type { RunningConfig } from '@angelia/config';
import { AngeliaError, type Config, type HolderId, type SessionId } from '@angelia/contracts';
import type { Leases, LogStatus, Queue, Streams } from '@angelia/event-log';
import type { Logger } from '@angelia/service-kit';
import { waitingFor, waitsForModel } from '@angelia/session';
import type { Loaded, Sessions } from '@angelia/sessions';
import { context, ROOT_CONTEXT } from '@opentelemetry/api';
import type { PostToAgent } from './agents/http/agent-request.ts';
import { type Claim, claim, expire, judge } from './claim/claim.ts';
import { changedModels } from './outages/changed-models.ts';
import { type DownModel, ModelCircuits, type Recovery } from './outages/model-circuits.ts';
import { putOffUnclaimed } from './outages/put-off.ts';
import { resumeWaiting } from './outages/resume-waiting.ts';
import { type Offer, RunQueue, type Tried } from './queue/run-queue.ts';
import type { Wanted } from './queue/waiting-list.ts';
import { findConfigDrift } from './run/config-drift.ts';
import { RunLeases } from './run/run-leases.ts';
import { traceClaim, traceRunEnd } from './run/run-trace.ts';
import { StopSwitch } from './run/stop-switch.ts';
import { type Pings, StreamFollower } from './run/stream-follower.ts';
import { type RunDeps, runTurn } from './run-turn.ts';
import { modelsForRun, type RunnerSettings } from './settings.ts';

export const RUNNER = Symbol('RUNNER');

interface RunnerOptions {
  /** A run keeps the config that it began with. */
  readonly config: RunningConfig<RunnerSettings>;
  /** Looks at the config file now. Default: nothing to look at. */
  readonly refreshConfig?: () => Promise<unknown>;
  /** Called with the session when one of its runs has started. Must not throw. */
  readonly onStarted?: (session: Loaded) => void;
  readonly postToAgent: PostToAgent;
  /** Announces every commit, of whichever service. */
  readonly pings: Pings;
  readonly sessions: Pick<Sessions, 'load' | 'refresh' | 'execute' | 'now' | 'clock'>;
  readonly log: {
    readonly leases: Pick<Leases, 'read' | 'renew'>;
    readonly status: Pick<LogStatus, 'lastAwayAt'>;
    readonly queue: Pick<Queue, 'pick' | 'pickOfRoute' | 'pickByState'>;
    readonly streams: Pick<Streams, 'routeOf'>;
  };
  readonly holder: HolderId;
  readonly logger: Logger;
  /** How many sessions may wait for a slot here. Default: see waiting-list.ts. */
  readonly waitingCap?: number;
  /** How late a result of process-watcher may be. Default: see tool-step.ts. */
  readonly watcherGraceSeconds?: number;
}

/** A session that this runner is claiming or running. */
interface InHand {
  /** A hint came meanwhile: look at the session once more when this is over. */
  checkAgain: boolean;
  readonly stop: StopSwitch;
}

/**
 * Takes a hinted session to its end. A hinted session is
 *
 *   looked at --nothing to do--> left alone
 *             --its turn waited too long for its start--> expired
 *             --all of its models are down (outages/model-circuits.ts)--> put off
 *             --no slot of its agent is free--> waits in the queue (or in the queue view) --one comes free--> looked at
 *             --its route is full (max_concurrency)--> waits in the queue --a place comes free--> looked at
 *             --claimed--> running --its turn is answered, or it was stopped--> let go; its slot goes to the next
 *
 * A session is in hand once. A hint for a session in hand makes the runner look at it again afterwards.
 */
export class Runner {
  readonly #options: RunnerOptions;
  /** What every run uses, besides its config and its settings. */
  readonly #deps: Omit<RunDeps, 'config' | keyof RunnerSettings>;
  readonly #queue: RunQueue;
  readonly #leases: RunLeases;
  readonly #follower: StreamFollower;
  readonly #circuits: ModelCircuits;
  readonly #inHand = new Map<SessionId, InHand>();
  #onIdle: (() => void)[] = [];
  /** Some session may expire in the queue. Then a hint of the sweep is looked into even when no slot is free. */
  #queueMayExpire: boolean;

  constructor(options: RunnerOptions) {
    const { config, holder, log, logger } = options;
    const { timing } = config.current;
    this.#options = options;
    this.#queue = new RunQueue({
      limits: limitsOf(config.current),
      waitingCap: options.waitingCap,
      view: log.queue,
      routeOf: (id) => log.streams.routeOf(id),
      tryStart: (id, offer) => this.#tryStart(id, offer),
      isInHand: (id) => this.#inHand.has(id),
      inBackground: (work) => this.#inBackground(work),
    });
    this.#leases = new RunLeases({
      renew: (resources) => log.leases.renew(resources, holder, timing.lease_seconds),
      seconds: timing.lease_seconds,
      logger,
    });
    this.#follower = new StreamFollower(options);
    this.#circuits = new ModelCircuits({
      schedules: retrySchedules(config.current),
      logger,
      onBack: (recovery) => this.#inBackground(() => this.#resumeWaiting(recovery)),
    });
    this.#deps = { ...options, leases: this.#leases, follower: this.#follower, circuits: this.#circuits };
    this.#queueMayExpire = mayExpireInQueue(config.current);
    let before = config.current;
    config.onTaken((taken) => {
      this.#queueMayExpire ||= mayExpireInQueue(taken);
      this.#queue.setLimits(limitsOf(taken));
      this.#circuits.take(retrySchedules(taken), changedModels(before, taken));
      before = taken;
    });
  }

  /** Resolves when the session is claimed or waits in the queue, or there is nothing to do. Throws what the log throws. */
  async checkSession(id: SessionId): Promise<void> {
    if (this.#queue.closed) throw new Draining();
    if (this.#markIfInHand(id)) return;
    if (this.#queue.mayHaveToWait) await this.#enqueue(id);
    else await this.#start(id, {});
  }

  /** Like `checkSession`, for a hint of the timers or the sweep: a turn that waited too long expires even if no slot is free. */
  async checkDueSession(id: SessionId): Promise<void> {
    const mayWait = !this.#queue.closed && this.#queue.mayHaveToWait && !this.#inHand.has(id);
    if (mayWait && this.#queueMayExpire) await this.#start(id, {});
    else await this.checkSession(id);
  }

  /** How many sessions are in hand. */
  get size(): number {
    return this.#inHand.size;
  }

  /** The models that cannot be used now, as this runner has seen it. */
  get modelsDown(): DownModel[] {
    return this.#circuits.down;
  }

  /** Somebody says that the session was cancelled. Only the event counts: if it is there, the run stops at once. */
  cancel(id: SessionId): void {
    this.#inBackground(() => this.#follower.checkSession(id));
  }

  /** Starts no runs after this. */
  close(): void {
    this.#queue.close();
  }

  /** Stops every run that is left. Each is handed over by an event. */
  interruptAll(): void {
    for (const { stop } of this.#inHand.values()) stop.press({ kind: 'drain' });
  }

  /** Resolves when nothing is in hand. */
  async idle(): Promise<void> {
    if (this.#inHand.size > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  /** For after the drain. Otherwise renewals end with the process. */
  stopRenewing(): void {
    this.#leases.stop();
  }

  /** Starts the session if a slot is free, or else puts it behind the others of its route. Only its route and agent are read. */
  async #enqueue(id: SessionId): Promise<void> {
    if (this.#queue.isWaiting(id)) return;
    const wanted = await this.#options.log.streams.routeOf(id);
    if (wanted === null) return;
    if (this.#queue.closed) throw new Draining();
    if (this.#markIfInHand(id)) return;
    if (this.#queue.isBlocked(wanted.route)) this.#queue.waitForRoute(id, wanted);
    else if (this.#queue.hasFreeSlotFor(wanted.agent)) await this.#start(id, {});
    else this.#queue.waitForSlot(id, wanted);
  }

  /** Starts a session that the queue offers. */
  async #tryStart(id: SessionId, offer: Offer): Promise<Tried> {
    return this.#markIfInHand(id) ? 'nothing_to_do' : this.#start(id, offer);
  }

  /** True if the session is in hand. Then the runner looks at it again afterwards. */
  #markIfInHand(id: SessionId): boolean {
    const inHand = this.#inHand.get(id);
    if (inHand !== undefined) inHand.checkAgain = true;
    return inHand !== undefined;
  }

  /** Takes the session in hand, and claims and runs it if that is what the log asks for. */
  async #start(id: SessionId, offer: Offer): Promise<Tried> {
    const inHand: InHand = { checkAgain: false, stop: new StopSwitch() };
    this.#inHand.set(id, inHand);
    let tried: Tried | null = null;
    try {
      tried = await this.#claim(id, offer, inHand);
      if (tried === 'started' || tried === 'nothing_to_do') this.#queue.remove(id);
      return tried;
    } finally {
      if (tried !== 'started') this.#letGo(id, inHand);
    }
  }

  async #claim(id: SessionId, offer: Offer, inHand: InHand): Promise<Tried> {
    const modelIsBack = this.#circuits.isLetThrough(id);
    const tried = await this.#claimIfDue(id, offer, inHand, modelIsBack);
    // If it was let through while this went on, it is looked at once more.
    const over = tried === 'started' || (tried === 'nothing_to_do' && modelIsBack);
    if (over) this.#circuits.passed(id);
    return tried;
  }

  async #claimIfDue(id: SessionId, offer: Offer, inHand: InHand, modelIsBack: boolean): Promise<Tried> {
    const loaded = await this.#options.sessions.load(id);
    const { created } = loaded.state;
    if (created === null) return 'nothing_to_do';
    const wanted: Wanted = { route: created.route, agent: created.agent };
    this.#queueMayExpire ||= loaded.state.turns.some((turn) => turn.queueDeadline !== null);

    const verdict = await judge(loaded, this.#options, { modelIsBack });
    if (verdict.action === 'expire') {
      const after = await expire(loaded, verdict, this.#options);
      if (after !== null) traceRunEnd(loaded, after, this.#options.config.current, 'expiry');
      inHand.checkAgain ||= hasMoreTurns(after);
    }
    if (verdict.action !== 'resume') return 'nothing_to_do';
    if (await putOffUnclaimed(loaded, verdict, { ...this.#options, circuits: this.#circuits })) {
      return 'nothing_to_do';
    }

    if (!offer.headOfRoute && this.#queue.isBlocked(wanted.route)) {
      this.#queue.waitForRoute(id, wanted);
      return 'waits';
    }
    if (!offer.withSlot && !this.#queue.takeSlot(wanted.agent)) {
      this.#queue.waitForSlot(id, wanted);
      return 'waits';
    }
    let tried: Tried = 'nothing_to_do';
    try {
      const claimed = await claim(loaded, verdict, this.#options);
      if (claimed === 'full') {
        this.#queue.block(id, wanted);
        tried = 'route_full';
      } else if (claimed !== null) {
        tried = 'started';
        traceClaim(loaded, claimed.loaded, this.#options.config.current);
        this.#options.onStarted?.(claimed.loaded);
        void this.#run(claimed, wanted, inHand);
      }
      return tried;
    } finally {
      if (tried !== 'started' && !offer.withSlot) this.#queue.freeSlot(wanted.agent);
    }
  }

  async #run(claimed: Claim, wanted: Wanted, inHand: InHand): Promise<void> {
    const { id } = claimed.loaded;
    const { config, refreshConfig } = this.#options;
    this.#queue.runStarted(wanted.route);
    // ingress takes a changed file by itself, and may have accepted the session before this runner has seen the change.
    if (lacksWhatItNeeds(claimed.loaded, config.current)) await refreshConfig?.();
    const held = config.hold();
    try {
      const after = await runTurn(claimed, inHand.stop, {
        ...this.#deps,
        ...held.settings,
        config: held.config,
        models: modelsForRun(held, config),
      });
      inHand.checkAgain ||= hasMoreTurns(after);
    } catch (error) {
      // The run stays open in the log. When its lease expires, the sweep has it resumed.
      this.#options.logger.error(
        { err: error, session_id: id },
        'run failed; will be resumed when its lease expires',
      );
    } finally {
      held.release();
      this.#letGo(id, inHand);
      this.#queue.runEnded(wanted);
    }
  }

  /** A model is back. Those that wait for it go on. */
  async #resumeWaiting(recovery: Recovery): Promise<void> {
    try {
      await resumeWaiting(recovery, {
        waitingFor: (model, after, limit) =>
          this.#options.log.queue.pickByState(waitsForModel(model), after, limit),
        resume: async (id) => {
          this.#circuits.letThrough(id);
          return (await this.#tryStart(id, {})) === 'started';
        },
        isLetThrough: (id) => this.#circuits.isLetThrough(id),
        closed: () => this.#queue.closed,
      });
    } finally {
      this.#circuits.endRecovery(recovery);
    }
  }

  #letGo(id: SessionId, inHand: InHand): void {
    this.#inHand.delete(id);
    this.#circuits.releaseProbe(id);
    if (inHand.checkAgain && !this.#queue.closed) this.#inBackground(() => this.checkSession(id));
    if (this.#inHand.size > 0) return;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  /**
   * Runs work that nobody waits for, outside of the trace of the session that caused it. If it fails, the log is away;
   * the sweep hints these sessions again.
   */
  #inBackground(work: () => Promise<void>): void {
    context
      .with(ROOT_CONTEXT, work)
      .catch((error: unknown) =>
        this.#options.logger.warn({ err: error }, 'queued session not started; will be hinted again'),
      );
  }
}

function limitsOf({ agents }: Config): ReadonlyMap<string, number> {
  return new Map(Object.entries(agents).map(([name, agent]) => [name, agent.max_concurrency]));
}

/** An agent of kind `command` asks nobody. */
function retrySchedules({ agents }: Config): (readonly number[])[] {
  return Object.values(agents).flatMap((agent) =>
    agent.kind === 'command' ? [] : [agent.retry.schedule_seconds],
  );
}

function mayExpireInQueue({ routes }: Config): boolean {
  return Object.values(routes).some((route) => route.max_queue_seconds !== undefined);
}

/** Thrown for a hint that comes while the runner drains. It is not acked, so another replica gets it. */
class Draining extends AngeliaError {
  override readonly name = 'Draining';
  readonly code = 'draining';
  readonly retryable = true;

  constructor() {
    super('this runner is draining: another one takes the session');
  }
}

/** Its agent or its target is not in the config. */
function lacksWhatItNeeds({ state: { created } }: Loaded, config: Config): boolean {
  return !Object.hasOwn(config.agents, created?.agent ?? '') || findConfigDrift(created, config) !== null;
}

/** Further turns are claimed one by one: another runner may have more capacity for them. */
function hasMoreTurns(after: Loaded | null): boolean {
  if (after === null || after.state.ended !== null || waitingFor(after.state) !== null) return false;
  return after.state.turns.length > 0;
}
