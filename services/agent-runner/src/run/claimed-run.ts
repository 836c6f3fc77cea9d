import { setTimeout as pause } from 'node:timers/promises';
import type { EventData, SessionId } from '@angelia/contracts';
import { storable } from '@angelia/event-log';
import type { Logger } from '@angelia/service-kit';
import { type Decision, decideAll, type SessionCommand, type SessionState } from '@angelia/session';
import type { Executed, Loaded, Sessions } from '@angelia/sessions';
import { LONGEST_TIMER_MS } from '@angelia/waiting';
import type { Claim } from '../claim/claim.ts';
import { type FailureCode, told } from './failures.ts';
import type { HeldLease, RunLeases } from './leases.ts';
import type { StopSwitch } from './stop-switch.ts';
import type { StreamFollower } from './stream-follower.ts';

export type InterimKind = EventData<'session.interim-status'>['kind'];

/**
 * A function where they depend on what others of this run append meanwhile (the numbers of statuses). It is asked once,
 * when those are through: a try whose answer was lost may be in the log, and the next one must name the same things,
 * or they are there twice.
 */
export type Commands = readonly SessionCommand[] | ((state: SessionState) => readonly SessionCommand[]);

/** A function where they depend on the time (how long nobody was at work): asked anew for each try. */
export type LastCommands = readonly SessionCommand[] | (() => readonly SessionCommand[]);

/** A claimed run in hand: what the code of an agent may do with it. */
export interface Run {
  readonly sessionId: SessionId;
  readonly generation: number;
  readonly turn: number;
  /** As of our last append or look; always a whole prefix of the stream, and never older than before. */
  readonly loaded: Loaded;
  /** Aborted when the work must stop at once: lease lost, drain, timeout, or the log says that the run is over. */
  readonly signal: AbortSignal;
  /**
   * To be called right before something is done outside of the log (a model call, a tool, a request): throws
   * `signal.reason` when the run was stopped, also when its lease ran out during a freeze and no timer noticed yet.
   */
  assertHeld(): void;
  /**
   * Decides the commands one after the other and appends them as one; appends of a run follow each other. Goes on
   * trying while Postgres is away. @throws NotOurs when the log refuses them: stop, nothing is left to do
   */
  append(commands: Commands): Promise<Loaded>;
  /** The last append, with which the lease goes. Null when the run was not ours to end. */
  end(commands: LastCommands): Promise<Loaded | null>;
  /** How long ago it was surely ours to work on. */
  silentSeconds(): number;
  /** Ends the run with `run.failed` and a sentence for the user (failures.ts). `message` is for the operator: no secrets. */
  fail(code: FailureCode, message: string): Promise<Loaded | null>;
  /** An interim status. @throws NotOurs */
  say(kind: InterimKind, text: string): Promise<void>;
  /**
   * Waits for somebody else's event: `look` is asked now and whenever the stream has news. Null at `untilMs`
   * (performance.now()). Throws `signal.reason` when the run is stopped.
   */
  waitFor<T>(look: (loaded: Loaded) => T | null, untilMs: number): Promise<T | null>;
}

/** Thrown inside a run when the log refuses what it says: it is over, or another generation has the session. */
export class NotOurs extends Error {
  override readonly name = 'NotOurs';
}

/**
 * A step that Postgres is away for is kept this long: asking the model again costs more than waiting. The last append
 * of a run is kept until it is taken, or refused: it is its answer, or that it was lost without a fault of its own.
 */
const KEEP_TRYING_MS = 5 * 60_000;
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 2_000;
export interface ClaimedRunDeps {
  readonly sessions: Pick<Sessions, 'execute'>;
  readonly leases: RunLeases;
  readonly follower: StreamFollower;
  readonly logger: Logger;
}

/** From the claim on: keeps the lease, follows the stream, writes to it. */
export class ClaimedRun implements Run {
  readonly #claim: Claim;
  readonly #stop: StopSwitch;
  readonly #deps: ClaimedRunDeps;
  readonly #lease: HeldLease;
  readonly #unfollow: () => void;
  /** How many wait for somebody else's event, and what wakes them. */
  #waits = 0;
  readonly #waiters = new Set<() => void>();
  #loaded: Loaded;
  #seenAt = performance.now();
  /** The append that the next one waits for. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(claim: Claim, stop: StopSwitch, deps: ClaimedRunDeps) {
    this.#claim = claim;
    this.#stop = stop;
    this.#deps = deps;
    this.#loaded = claim.loaded;
    this.#lease = deps.leases.hold(claim.resource, claim.since, (loss) =>
      stop.press({ kind: 'lease_lost', loss }),
    );
    this.#unfollow = deps.follower.follow(this);
  }

  get sessionId(): SessionId {
    return this.#loaded.id;
  }

  get generation(): number {
    return this.#claim.generation;
  }

  get turn(): number {
    return this.#claim.turn;
  }

  get loaded(): Loaded {
    return this.#loaded;
  }

  get seenAt(): number {
    return this.#seenAt;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get waiting(): boolean {
    return this.#waits > 0;
  }

  assertHeld(): void {
    if (!this.#lease.alive) this.#stop.press({ kind: 'lease_lost', loss: 'not_renewed' });
    this.signal.throwIfAborted();
  }

  async append(commands: Commands): Promise<Loaded> {
    const once = () => {
      const decided = typeof commands === 'function' ? commands(this.#loaded.state) : commands;
      return () => decided;
    };
    return this.#orNotOurs(await this.#append(once));
  }

  silentSeconds(): number {
    return (performance.now() - this.#lease.since) / 1000;
  }

  async end(commands: LastCommands): Promise<Loaded | null> {
    const anew = () => (typeof commands === 'function' ? commands() : commands);
    const executed = await this.#append(() => anew, true);
    if (executed.status === 'appended') return executed.loaded;
    if (executed.status === 'refused') {
      this.#deps.logger.debug(
        { session_id: this.sessionId, generation: this.generation, code: executed.code },
        'a run was not ours to end',
      );
    }
    return null;
  }

  fail(code: FailureCode, message: string): Promise<Loaded | null> {
    const { generation } = this;
    return this.end([{ type: 'fail-run', generation, code, message: storable(message), text: told[code] }]);
  }

  async say(kind: InterimKind, text: string): Promise<void> {
    await this.append((state) => [status(state, this.generation, kind, text)]);
  }

  async waitFor<T>(look: (loaded: Loaded) => T | null, untilMs: number): Promise<T | null> {
    this.signal.throwIfAborted();
    const known = look(this.#loaded);
    if (known !== null) return known;
    this.#waits += 1;
    if (this.#waits === 1) this.#deps.follower.waitingChanged();
    try {
      for (;;) {
        const leftMs = untilMs - performance.now();
        if (leftMs <= 0) return null;
        await this.#news(Math.min(leftMs, LONGEST_TIMER_MS));
        this.signal.throwIfAborted();
        const found = look(this.#loaded);
        if (found !== null) return found;
      }
    } finally {
      this.#waits -= 1;
      if (this.#waits === 0) this.#deps.follower.waitingChanged();
    }
  }

  /** From the watch. What an append brought meanwhile may be newer. */
  news(loaded: Loaded): void {
    this.#seenAt = performance.now();
    if (loaded.version > this.#loaded.version) this.#now(loaded);
    if (this.#loaded.state.run?.generation !== this.generation) this.#stop.press({ kind: 'over' });
  }

  /** The run is over, one way or the other. */
  letGo(): void {
    // Whoever still waits in its name (a call beside one that failed) waits for nothing.
    if (this.#waits > 0) this.#stop.press({ kind: 'over' });
    this.#unfollow();
    this.#lease.drop();
  }

  /** Resolves when the stream has news, the run is stopped, or the time is over. */
  #news(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.signal.removeEventListener('abort', done);
        this.#waiters.delete(done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.signal.addEventListener('abort', done);
      this.#waiters.add(done);
    });
  }

  #now(loaded: Loaded): void {
    this.#loaded = loaded;
    for (const wake of [...this.#waiters]) wake();
  }

  #orNotOurs(executed: Appended): Loaded {
    if (executed.status === 'refused') throw new NotOurs(executed.reason);
    return executed.loaded;
  }

  /** One after the other: parallel tools would only conflict with each other. `begin` is asked when it is its turn. */
  #append(begin: () => () => readonly SessionCommand[], last = false): Promise<Appended> {
    const appended = this.#last.then(() => {
      const commands = begin();
      return this.#execute(({ state }) => decideAll(state, commands()), last);
    });
    this.#last = appended.catch(() => {});
    return appended;
  }

  async #execute(decideOn: (loaded: Loaded) => Decision, last: boolean): Promise<Appended> {
    const begun = performance.now();
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
      try {
        const executed = await this.#deps.sessions.execute(this.sessionId, decideOn, {
          loaded: this.#loaded,
        });
        if (executed.status === 'duplicate' || executed.status === 'limited' || executed.status === 'full') {
          throw new Error(`an append without a key or a limit was answered with ${executed.status}`);
        }
        this.#seenAt = performance.now();
        if (executed.loaded.version > this.#loaded.version) this.#now(executed.loaded);
        return executed;
      } catch (error) {
        if (!isRetryable(error) || (!last && performance.now() - begun > KEEP_TRYING_MS)) throw error;
        await pause(wait);
      }
    }
  }
}

/** The next status of the run. */
export function status(
  state: SessionState,
  generation: number,
  kind: InterimKind,
  text: string,
): Extract<SessionCommand, { type: 'interim-status' }> {
  const sequence = (state.run?.statuses ?? 0) + 1;
  return { type: 'interim-status', generation, sequence, kind, text: storable(text) };
}

type Appended = Exclude<Executed, { status: 'duplicate' | 'limited' | 'full' }>;

function isRetryable(error: unknown): boolean {
  return error instanceof Error && 'retryable' in error && error.retryable === true;
}
