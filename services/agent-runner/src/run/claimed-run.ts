import { AngeliaError, type EventData, isRetryable, type SessionId } from '@angelia/contracts';
import { toStorable } from '@angelia/event-log';
import type { Logger } from '@angelia/service-kit';
import { type Decision, decideAll, type SessionCommand, type SessionState } from '@angelia/session';
import type { Executed, Loaded, Sessions } from '@angelia/sessions';
import { pause, WakeUp } from '@angelia/waiting';
import type { Claim } from '../claim/claim.ts';
import { type FailureCode, failureTexts } from './failures.ts';
import type { HeldLease, RunLeases } from './run-leases.ts';
import { traceResults } from './run-trace.ts';
import type { StopSwitch } from './stop-switch.ts';
import type { StreamFollower } from './stream-follower.ts';

type InterimKind = EventData<'session.interim-status'>['kind'];

/**
 * A function where the commands depend on earlier appends of this run (the numbers of statuses). It is called once, when
 * those are done: a try whose answer was lost may be in the log, and the next try must repeat the same commands, or they
 * are recorded twice.
 */
type Commands = readonly SessionCommand[] | ((state: SessionState) => readonly SessionCommand[]);

/** A function where the commands depend on the time (`silentSeconds`). It is called anew for each try. */
type LastCommands = readonly SessionCommand[] | (() => readonly SessionCommand[]);

/** A claimed run: what the code of an agent may do with it. */
export interface Run {
  readonly sessionId: SessionId;
  readonly generation: number;
  readonly turn: number;
  /** As of the last append or read. Always a whole prefix of the stream, and never older than before. */
  readonly loaded: Loaded;
  /** Aborted when the work must stop at once: lease lost, drain, timeout, or the log says that the run is over. */
  readonly signal: AbortSignal;
  /**
   * Call it right before anything that acts outside of the log (a model call, a tool, a request). Throws `signal.reason`
   * when the run was stopped, even if its lease expired during a freeze and no timer has noticed yet.
   */
  assertHeld(): void;
  /**
   * Decides the commands one after the other and appends their events together. Appends of a run follow each other. Keeps
   * trying while Postgres is away. @throws RunOver when the log refuses them
   */
  append(commands: Commands): Promise<Loaded>;
  /** The last append; it gives the lease back. Null when the run was not ours to end. */
  end(commands: LastCommands): Promise<Loaded | null>;
  /** How long ago the run certainly held its lease. */
  silentSeconds(): number;
  /** Ends the run with `run.failed` and a sentence for the user (failures.ts). `message` is for the operator: no secrets. */
  fail(code: FailureCode, message: string, text?: string): Promise<Loaded | null>;
  /** Records an interim status. @throws RunOver */
  reportStatus(kind: InterimKind, text: string): Promise<void>;
  /**
   * Waits for an event of another service: calls `find` now and whenever the stream has changed. Null at `untilMs`
   * (performance.now()). Throws `signal.reason` when the run is stopped.
   */
  waitFor<T>(find: (loaded: Loaded) => T | null, untilMs: number): Promise<T | null>;
}

/** Thrown inside a run when the log refuses its append: the run is over, or a newer generation has the session. Stop. */
export class RunOver extends AngeliaError {
  override readonly name = 'RunOver';
  readonly code = 'run_over';
  readonly retryable = false;
}

/**
 * How long a step is kept while Postgres is away: asking the model again costs more than waiting. The last append of a
 * run is tried until it is accepted or refused: it holds the answer, or that the run was lost without being at fault.
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

/** Keeps the lease of a claimed run, follows its stream and appends to it. */
export class ClaimedRun implements Run {
  readonly #claim: Claim;
  readonly #stop: StopSwitch;
  readonly #deps: ClaimedRunDeps;
  readonly #lease: HeldLease;
  readonly #unfollow: () => void;
  /** One for each call of `waitFor`. */
  readonly #waiting = new Set<WakeUp>();
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
    return this.#waiting.size > 0;
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
    return this.#orRunOver(await this.#append(once));
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
        'run was not ours to end',
      );
    }
    return null;
  }

  fail(code: FailureCode, message: string, text: string = failureTexts[code]): Promise<Loaded | null> {
    const { generation } = this;
    return this.end([{ type: 'fail-run', generation, code, message: toStorable(message), text }]);
  }

  async reportStatus(kind: InterimKind, text: string): Promise<void> {
    await this.append((state) => [nextStatus(state, this.generation, kind, text)]);
  }

  async waitFor<T>(find: (loaded: Loaded) => T | null, untilMs: number): Promise<T | null> {
    this.signal.throwIfAborted();
    const known = find(this.#loaded);
    if (known !== null) return known;
    const wakeUp = new WakeUp();
    this.#waiting.add(wakeUp);
    if (this.#waiting.size === 1) this.#deps.follower.waitingChanged();
    try {
      for (;;) {
        const leftMs = untilMs - performance.now();
        if (leftMs <= 0) return null;
        await wakeUp.wait(leftMs, this.signal);
        this.signal.throwIfAborted();
        const found = find(this.#loaded);
        if (found !== null) return found;
      }
    } finally {
      this.#waiting.delete(wakeUp);
      if (!this.waiting) this.#deps.follower.waitingChanged();
    }
  }

  /** From the follower. An append may have returned a newer state meanwhile. */
  streamRead(loaded: Loaded): void {
    this.#seenAt = performance.now();
    if (loaded.version > this.#loaded.version) this.#setLoaded(loaded);
    if (this.#loaded.state.run?.generation !== this.generation) this.#stop.press({ kind: 'over' });
  }

  /** Stops renewing the lease and following the stream: the run is over. */
  release(): void {
    // A tool call beside one that failed may still wait, for nothing.
    if (this.waiting) this.#stop.press({ kind: 'over' });
    this.#unfollow();
    this.#lease.drop();
  }

  #setLoaded(loaded: Loaded): void {
    traceResults(this.#loaded, loaded);
    this.#loaded = loaded;
    for (const wakeUp of this.#waiting) wakeUp.wake();
  }

  #orRunOver(executed: Appended): Loaded {
    if (executed.status === 'refused') throw new RunOver(executed.reason);
    return executed.loaded;
  }

  /** One after the other: parallel tools would conflict with each other. `begin` is called when it is its turn. */
  #append(begin: () => () => readonly SessionCommand[], last = false): Promise<Appended> {
    const appended = this.#last.then(() => {
      const commands = begin();
      return this.#execute(({ state }) => decideAll(state, commands()), last);
    });
    this.#last = appended.catch(() => {});
    return appended;
  }

  async #execute(decideOn: (loaded: Loaded) => Decision, last: boolean): Promise<Appended> {
    const startedAt = performance.now();
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
      try {
        const executed = await this.#deps.sessions.execute(this.sessionId, decideOn, {
          loaded: this.#loaded,
        });
        if (executed.status === 'duplicate' || executed.status === 'limited' || executed.status === 'full') {
          throw new Error(`an append without a key or a limit was answered with ${executed.status}`);
        }
        this.#seenAt = performance.now();
        if (executed.loaded.version > this.#loaded.version) this.#setLoaded(executed.loaded);
        return executed;
      } catch (error) {
        if (!isRetryable(error) || (!last && performance.now() - startedAt > KEEP_TRYING_MS)) throw error;
        await pause(wait);
      }
    }
  }
}

/** The next interim status of the run. */
export function nextStatus(
  state: SessionState,
  generation: number,
  kind: InterimKind,
  text: string,
): Extract<SessionCommand, { type: 'interim-status' }> {
  const sequence = (state.run?.statuses ?? 0) + 1;
  return { type: 'interim-status', generation, sequence, kind, text: toStorable(text) };
}

type Appended = Exclude<Executed, { status: 'duplicate' | 'limited' | 'full' }>;
