import type { SessionId } from '@angelia/contracts';
import type { Logger } from '@angelia/service-kit';
import type { PutOff, UnusableModel } from '@angelia/session';
import { type CircuitLimits, Circuits, circuitLimits, type Verdict, WakeUp } from '@angelia/waiting';
import { CallFailure } from '../retry-call.ts';
import type { ChangedModels } from './changed-models.ts';

/** Why a model cannot be used, as the last call of it said. */
export type ModelTrouble = Pick<UnusableModel, 'reason' | 'code' | 'message'>;

export interface DownModel extends ModelTrouble {
  readonly model: string;
  /** By the wall clock of this host. */
  readonly since: Date;
}

/** A model that is back, while the sessions that waited for it go on one after the other (resume-waiting.ts). */
export interface Recovery {
  readonly model: string;
  /** False: the model is down again, or all of them have gone on. */
  active: boolean;
  /** An agent that asked the model asks others now: the answers of all models count. */
  readonly left: boolean;
  /** Calls of the model that worked since it is back. */
  answers: number;
  /** Woken by each answer, when a session goes on, and when the recovery ends. */
  readonly changed: WakeUp;
}

interface ModelCircuitsOptions {
  /** `retry.schedule_seconds` of all agents. */
  readonly schedules: readonly (readonly number[])[];
  readonly logger: Pick<Logger, 'warn' | 'info'>;
  /** A model that was down works again, or its config has changed. */
  readonly onBack: (recovery: Recovery) => void;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

/**
 * A session that was let through as the probe has this long until its call. After that another one may probe: its run may
 * have tools to finish before it asks the model.
 */
const PROBE_RESERVED_MS = 10_000;
/**
 * The session that was told to wait longer does so: its retry is in the log. For the other sessions the wait is hearsay. A
 * model that says "in a year" by mistake is asked again by then.
 */
const LONGEST_HOLD_MS = 900_000;

/** Those that wait for a slot here are fewer. One that another runner took stays until it is the oldest. */
const MOST_LET_THROUGH = 1_000;

/**
 * Which models can be called now, as this runner has seen it: one circuit per model of the config, which is a model and a
 * credential (`agent:<name>` for an agent of kind `http`). So a hundred sessions do not hammer a model that is down. It
 * counts single tries: the tries of a call that is under way stop as well.
 *
 *   closed ------ five failed tries in a row, or a refused credential, or a Retry-After ------> open
 *   open -------- its pause is over: one session is let through as the probe, the others are put off
 *   probe fails - the next pause is twice as long
 *   probe works - recovering: the sessions that wait for the model go on in order, first one, then two, four ...; a session
 *                 that comes meanwhile is put off, and follows them
 *   recovering -- all have gone on: closed; or failed tries open it again
 *
 * It is memory of this process. After a restart, the first session that was put off for a model shows that it was down, and
 * becomes the probe.
 */
export class ModelCircuits {
  readonly #options: ModelCircuitsOptions;
  #limits: CircuitLimits;
  readonly #circuits: Circuits;
  readonly #now: () => number;
  /** The last failure of each model, and since when it is down. Only of open circuits. */
  readonly #down = new Map<string, DownModel>();
  readonly #probes = new Map<string, { readonly session: SessionId; readonly until: number }>();
  readonly #recoveries = new Map<string, Recovery>();
  /** The sessions that waited for a model that is back, and whose turn it is. */
  readonly #letThrough = new Set<SessionId>();
  /** The models that this process has called. */
  readonly #called = new Set<string>();

  constructor(options: ModelCircuitsOptions) {
    this.#options = options;
    this.#limits = circuitLimits(options.schedules.flat());
    this.#circuits = new Circuits(this.#limits);
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * Asks before a session is claimed. Null: it may start. Otherwise none of its models can be used.
   *
   * @param putOff the wait of the turn so far, if it was put off
   */
  admit(session: SessionId, models: readonly string[], putOff: PutOff | null): UnusableModel[] | null {
    if (putOff !== null) this.#learnFrom(putOff);
    const unusable: UnusableModel[] = [];
    for (const model of models) {
      const pausedMs = this.pausedMs(model, session);
      const behindOthers = this.#recoveries.has(model) && !this.#letThrough.has(session);
      if (pausedMs === 0 && !behindOthers) {
        if (this.#circuits.isOpen(model)) {
          this.#probes.set(model, { session, until: this.#now() + PROBE_RESERVED_MS });
        }
        return null;
      }
      unusable.push(this.notCalled(model, pausedMs));
    }
    return unusable;
  }

  /** 0: the session may call the model now. */
  pausedMs(model: string, session: SessionId): number {
    const now = this.#now();
    const ms = this.#circuits.waitMs(model, now);
    // The verdict of a probe is not known in advance. If it fails, the next pause begins.
    if (ms === Number.POSITIVE_INFINITY) return this.#limits.firstPauseMs;
    if (ms > 0 || !this.#circuits.isOpen(model)) return ms;
    const probe = this.#probes.get(model);
    return probe === undefined || probe.session === session ? 0 : Math.max(0, probe.until - now);
  }

  /** A model that is not called because it is known to be down. */
  notCalled(model: string, pausedMs: number): UnusableModel {
    const { reason, code, message } = this.#down.get(model) ?? OTHERS_FIRST;
    return { model, reason, code, message, called: false, retryAfterMs: null, pausedMs };
  }

  /**
   * A call with all its tries. Each try goes through the circuit: `tryOnce` is called around it.
   *
   * @throws the last failure of the call; ModelPaused if it was not even tried
   */
  async call<T>(
    model: string,
    session: SessionId,
    call: (tryOnce: (attempt: () => Promise<T>) => Promise<T>) => Promise<T>,
  ): Promise<T> {
    let failed: CallFailure | null = null;
    try {
      return await call(async (attempt) => {
        try {
          return await this.#guard(model, session, attempt);
        } catch (error) {
          if (error instanceof CallFailure && !(error instanceof ModelPaused)) failed = error;
          throw error;
        }
      });
    } catch (error) {
      const failure = error instanceof ModelPaused ? (failed ?? error) : error;
      if (failure instanceof CallFailure && failure.reason !== null && failure.retryAfterMs !== null)
        this.#hold(model, failure.retryAfterMs);
      throw failure;
    }
  }

  async #guard<T>(model: string, session: SessionId, attempt: () => Promise<T>): Promise<T> {
    if (this.pausedMs(model, session) > 0) throw new ModelPaused(this.#down.get(model) ?? OTHERS_FIRST);
    const probe = this.#circuits.pass(model);
    let verdict: Verdict = 'undecided';
    try {
      const answer = await attempt();
      verdict = 'worked';
      return answer;
    } catch (error) {
      // A model that refuses this request is there.
      if (error instanceof CallFailure) verdict = error.reason === null ? 'worked' : 'failed';
      if (error instanceof CallFailure && error.reason !== null) this.#failed(model, error.reason, error);
      throw error;
    } finally {
      if (probe) this.#probes.delete(model);
      this.#settle(model, verdict, probe);
    }
  }

  /** The model was given up for now, and had said when to come back (Retry-After). */
  #hold(model: string, ms: number): void {
    const changed = this.#circuits.hold(model, Math.min(ms, LONGEST_HOLD_MS), this.#now());
    if (changed === 'opened') this.#opened(model);
  }

  /** The session is no longer in hand: somebody else may probe. */
  releaseProbe(session: SessionId): void {
    for (const [model, probe] of this.#probes) {
      if (probe.session === session) this.#probes.delete(model);
    }
  }

  /** A model is back, and it is this session's turn to go on. */
  letThrough(session: SessionId): void {
    const [oldest] = this.#letThrough;
    if (this.#letThrough.size >= MOST_LET_THROUGH && oldest !== undefined) this.#letThrough.delete(oldest);
    this.#letThrough.add(session);
  }

  /** It need not wait for its `retry_at`. */
  isLetThrough(session: SessionId): boolean {
    return this.#letThrough.has(session);
  }

  /** The session has gone on, or need not. If it is put off again, it waits for its `retry_at`. */
  passed(session: SessionId): void {
    if (!this.#letThrough.delete(session)) return;
    for (const { changed } of this.#recoveries.values()) changed.wake();
  }

  endRecovery(recovery: Recovery): void {
    recovery.active = false;
    recovery.changed.wake();
    if (this.#recoveries.get(recovery.model) === recovery) this.#recoveries.delete(recovery.model);
  }

  /** A new config is in force. The sessions that waited because of what it changes go on, first one of them. */
  take(schedules: readonly (readonly number[])[], { mended, left }: ChangedModels): void {
    this.#limits = circuitLimits(schedules.flat());
    this.#circuits.setLimits(this.#limits);
    // What the last calls said of these no longer counts.
    for (const model of mended) {
      this.#circuits.forget(model);
      this.#down.delete(model);
      this.#probes.delete(model);
    }
    const models = new Set([...mended, ...left]);
    if (models.size === 0) return;
    this.#options.logger.info(
      { models: [...models] },
      'the config of models has changed; the sessions that wait for them continue',
    );
    for (const model of models) this.#recover(model, left.includes(model));
  }

  /** The models that cannot be used. One that nobody has tried for long is left out: nobody waits for it. */
  get down(): DownModel[] {
    const open = this.#circuits.openNames(this.#now());
    return [...this.#down.values()].filter(({ model }) => open.has(model));
  }

  /** This process does not know the models that the turn waited for: whoever calls one of them first is the probe. */
  #learnFrom({ reason, models }: PutOff): void {
    for (const { model, code } of models) {
      if (this.#called.has(model) || this.#circuits.isOpen(model)) continue;
      this.#circuits.hold(model, 0, this.#now());
      const message = `model ${model} could not be used before this runner started`;
      this.#down.set(model, { model, reason, code, message, since: new Date() });
    }
  }

  #failed(model: string, reason: ModelTrouble['reason'], { code, message }: CallFailure): void {
    const since = this.#down.get(model)?.since ?? new Date();
    this.#down.set(model, { model, reason, code, message, since });
  }

  #settle(model: string, verdict: Verdict, probe: boolean): void {
    const now = this.#now();
    if (verdict !== 'undecided') this.#called.add(model);
    let changed = this.#circuits.settle(model, verdict, probe, now);
    // No other request can do better with the same credential.
    if (verdict === 'failed' && this.#down.get(model)?.reason === 'configuration') {
      const held = this.#circuits.isOpen(model)
        ? 'same'
        : this.#circuits.hold(model, this.#limits.firstPauseMs, now);
      if (held === 'opened') changed = 'opened';
    }
    if (verdict === 'worked' && !this.#circuits.isOpen(model)) this.#down.delete(model);
    if (changed === 'opened') this.#opened(model);
    if (changed === 'closed') this.#closed(model);
    if (verdict !== 'worked') return;
    for (const recovery of this.#recoveries.values()) {
      if (recovery.model !== model && !recovery.left) continue;
      recovery.answers += 1;
      recovery.changed.wake();
    }
  }

  #opened(model: string): void {
    const { reason, code, message } = this.#down.get(model) ?? OTHERS_FIRST;
    this.#options.logger.warn(
      { model, reason, code, message },
      'model cannot be used; its sessions wait and one call at a time tries again',
    );
    this.#endRecoveryOf(model);
  }

  #closed(model: string): void {
    this.#options.logger.info({ model }, 'model works again; the sessions that wait for it continue');
    this.#recover(model, false);
  }

  #recover(model: string, left: boolean): void {
    this.#endRecoveryOf(model);
    const recovery: Recovery = { model, left, active: true, answers: 0, changed: new WakeUp() };
    this.#recoveries.set(model, recovery);
    this.#options.onBack(recovery);
  }

  #endRecoveryOf(model: string): void {
    const recovery = this.#recoveries.get(model);
    if (recovery !== undefined) this.endRecovery(recovery);
  }
}

/** For a session that comes while those that waited for the model go on. */
const OTHERS_FIRST: ModelTrouble = {
  reason: 'unavailable',
  code: 'unavailable',
  message: 'the model is back, and the sessions that waited for it continue first',
};

/** Thrown instead of a call of a model that is known to be down. The caller goes on with the next model. */
export class ModelPaused extends CallFailure {
  override readonly name = 'ModelPaused';
  readonly code: string;
  readonly retryable = false;
  readonly retryAfterMs = null;
  readonly reason: ModelTrouble['reason'];

  constructor({ code, message, reason }: ModelTrouble) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}
