import { setTimeout as pause } from 'node:timers/promises';
import { type Config, type SessionId, sessionId, watchPingSubject } from '@angelia/contracts';
import type { ListedProcess, Lists, Page } from '@angelia/event-log';
import type { Logger } from '@angelia/service-kit';
import { agentTools, decideAll, type ProcessState, type SessionCommand } from '@angelia/session';
import type { Loaded, Sessions } from '@angelia/sessions';
import { withSpan } from '@angelia/sessions';
import { Background } from './background/background-processes.ts';
import { agentCommand } from './calls/command-agent.ts';
import { processTool } from './calls/process-tool.ts';
import { terminal } from './calls/terminal-tool.ts';
import { type Call, type CallEnd, callsToCarryOut, type OpenedCall } from './calls/tool-call.ts';
import { Commands } from './commands/host-commands.ts';
import type { Isolation } from './isolation/isolation.ts';
import { untilDone } from './retry-until-done.ts';
import { Pins, type PinsLog } from './session-affinity.ts';
import { foregroundName, type Places, processIdOf, takenName } from './session-directories.ts';
import { Users } from './users/session-users.ts';
import type { RunAs } from './users/user-policy.ts';

export const WATCHER = Symbol('WATCHER');

export interface WatcherOptions {
  readonly config: Config;
  readonly sessions: Pick<Sessions, 'load' | 'refresh' | 'execute'>;
  readonly log: PinsLog & { readonly lists: Pick<Lists, 'processes'> };
  readonly places: Places;
  readonly runAs: RunAs;
  readonly isolation: Isolation;
  readonly instance: string;
  readonly logger: Logger;
  /** Tells the other watchers to look at a session. */
  readonly ping: (subject: string) => void;
  /** As in `Commands`. */
  readonly answerMs?: number | undefined;
  readonly graceMs?: number | undefined;
}

/** Between two looks whether somebody still waits for the calls in hand: a cancel's own message may be lost. */
const LOOK_MS = 1_000;

const LISTED_AT_ONCE = 500;
/** One read per session that has files here, against days that they are kept. */
const TIDY_MS = 3_600_000;
/** Between two looks for processes that belong to nobody: reads all of /proc, some 10 ms. */
const STRAYS_MS = 30_000;

/** Reads of that many streams at once; when we start again, as many commands that are being ended. */
const AT_ONCE = 8;
/** Of those that failed, in a log line. */
const NAMED_AT_MOST = 10;
/** Postgres is back in a moment after a restart; what stays broken is not worth more than a line a minute in the log. */
const ADOPT_AGAIN_MS = 100;
const ADOPT_AGAIN_AT_MOST_MS = 60_000;

/** A session that has commands on this host, and their names. */
type Left = readonly [id: SessionId, names: readonly string[]];

/** A look under way. */
interface Look {
  readonly id: SessionId;
  /** Calls that ended since it began: what it has read may still show them as open. */
  readonly ended: Set<string>;
}

interface Hand {
  loaded: Loaded;
  readonly calls: Map<string, AbortController>;
}

/**
 * Carries out the calls that the log asks for, each once, and follows the background processes of this host.
 *
 *   call: started --lease taken--> in hand --carried out--> its result is appended
 *                                  in hand --nobody waits for it any more--> ended, without a result
 *                                  in hand --this watcher dies--> its files go on; the next one takes it in hand again
 */
export class Watcher {
  readonly commands: Commands;
  readonly #options: WatcherOptions;
  readonly #users: Users;
  readonly #background: Background;
  readonly #pins: Pins;
  readonly #hands = new Map<SessionId, Hand>();
  readonly #looks = new Set<Look>();
  readonly #killing = new Set<string>();
  readonly #closing = new AbortController();
  readonly #atWork = new Set<Promise<void>>();
  readonly #timers: NodeJS.Timeout[] = [];

  constructor(options: WatcherOptions) {
    const { config, places, runAs, isolation, instance, logger, sessions, log, answerMs, graceMs } = options;
    this.#options = options;
    this.#users = new Users({ runAs, places, logger });
    this.commands = new Commands({
      places,
      config: config.process_watcher,
      users: this.#users,
      isolation,
      instance,
      logger,
      answerMs,
      graceMs,
    });
    this.#background = new Background({
      config,
      commands: this.commands,
      sessions,
      instance,
      logger,
      signal: this.#closing.signal,
    });
    this.#pins = new Pins({ log, instance, config, logger });
  }

  /** Resolves when what the log asks for is in hand, or is another's. Throws what the log throws. */
  look(id: SessionId): Promise<void> {
    return this.#look(id, () => this.#options.ping(watchPingSubject(id)));
  }

  /** Another watcher says that it is not its own. */
  lookIfOurs(id: SessionId): Promise<void> {
    return this.#look(id, () => {});
  }

  async #look(id: SessionId, tellOthers: () => void): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const look: Look = { id, ended: new Set() };
    this.#looks.add(look);
    try {
      await this.#lookThrough(look, tellOthers);
    } finally {
      this.#looks.delete(look);
    }
  }

  async #lookThrough(look: Look, tellOthers: () => void): Promise<void> {
    const { id } = look;
    const loaded = await this.#options.sessions.load(id);
    if (loaded.state.created === null) return;
    const calls = callsToCarryOut(loaded).filter(({ callId }) => !this.#hands.get(id)?.calls.has(callId));
    const running = loaded.state.processes.filter((process) => process.status === 'running');
    if (calls.length === 0 && running.length === 0) return;
    if (!(await this.#pins.isOurs(loaded))) return tellOthers();
    for (const process of running) this.#follow(loaded, process);
    for (const call of calls) if (!(await this.#takeUp(look, loaded, call))) tellOthers();
  }

  /** What a predecessor left on this host: goes on with it, and ends what nobody can ask for any more. */
  async adopt(): Promise<void> {
    this.#pins.start();
    this.#every(LOOK_MS, () => this.#refresh([...this.#hands.keys()]));
    this.#every(this.#options.config.timing.sweep_seconds * 1000, () => this.lookForLost());
    this.#every(TIDY_MS, () => this.tidy());
    this.#every(STRAYS_MS, () => this.endStrays());
    this.#users.adopt();
    void this.#aside(() => this.#users.collect());
    const found = this.#options.places.unsettled();
    const sessions = Map.groupBy(found, ({ sessionId }) => sessionId);
    if (found.length > 0)
      this.#options.logger.info({ commands: found.length }, 'takes up what runs on this host');
    const left = await this.#adoptAll(
      [...sessions].map(([id, named]) => [id, named.map(({ name }) => name)]),
    );
    if (left.length > 0) this.#work(this.#adoptLater(left));
  }

  /** One try each. Returns those that could not be adopted. */
  #adoptAll(sessions: readonly Left[]): Promise<Left[]> {
    return this.#forEach(sessions, ([id, names]) => this.#adopt(id, names), 'taken up: trying again');
  }

  async #adoptLater(sessions: readonly Left[]): Promise<void> {
    const { signal } = this.#closing;
    let left = sessions;
    for (let wait = ADOPT_AGAIN_MS; left.length > 0; wait = Math.min(wait * 2, ADOPT_AGAIN_AT_MOST_MS)) {
      await pause(wait, undefined, { signal });
      left = await this.#adoptAll(left);
    }
  }

  /**
   * Looks at every process that is said to run and that nobody follows: of a watcher that is gone for good, or of
   * ourselves when our files were taken away.
   */
  async lookForLost(): Promise<void> {
    const there = new Map<string, boolean>();
    const sessions = new Set<string>();
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page: Page<ListedProcess> = await this.#options.log.lists.processes({
        status: 'running',
        limit: LISTED_AT_ONCE,
        ...(cursor === undefined ? {} : { cursor }),
      });
      cursor = page.nextCursor;
      for (const { sessionId: id, processId, detail } of page.items) {
        if (this.#background.isTracked(processId)) continue;
        const owner = (detail as { readonly watcher?: string | null } | null)?.watcher ?? null;
        if (owner !== null && owner !== this.#options.instance) {
          if (!there.has(owner)) there.set(owner, await this.#pins.isThere(owner));
          if (there.get(owner)) continue;
        }
        sessions.add(id);
      }
    }
    await this.#forEach([...sessions], (id) => this.look(sessionId(id)), 'looked at');
  }

  /** Removes the files of sessions that ended long ago. */
  async tidy(now = Date.now()): Promise<void> {
    const { places, sessions, config } = this.#options;
    const keepMs = config.process_watcher.keep_hours * 3_600_000;
    const busy = new Set(places.unsettled().map((command) => command.sessionId));
    const tidyUp = async (id: SessionId): Promise<void> => {
      const { state } = await sessions.load(id);
      // One that the log does not know (any more) was pruned, or is not there yet.
      const since = state.created === null ? places.changedAt(id) : state.lastActivityAt;
      const over = state.created === null || state.ended !== null;
      if (over && now - since > keepMs) await this.commands.forgetSession(id);
    };
    const idle = places.sessions().filter((id) => !busy.has(id));
    await this.#forEach(idle, tidyUp, 'tidied up');
    await this.#users.collect();
  }

  /** Ends what runs for sessions none of whose commands goes on, and for sessions that are gone. */
  async endStrays(): Promise<void> {
    const endThose = async (id: SessionId): Promise<void> => {
      const loaded = await this.#options.sessions.load(id);
      if (loaded.state.created === null) await this.#users.end(id);
      else if (await this.#pins.isOurs(loaded)) await this.commands.endStrays(id);
    };
    await this.#forEach(this.#users.busy(), endThose, 'looked at for processes that nobody knows of');
  }

  /** Somebody says that the session was erased: that the log does not know it is what counts. */
  async erased(id: SessionId): Promise<void> {
    if (!this.#options.places.sessions().includes(id)) return;
    if ((await this.#options.sessions.load(id)).state.created !== null) return;
    await this.commands.forgetSession(id);
    await this.#users.collect();
  }

  /** Somebody says that the session was cancelled: the event is what counts. */
  async cancelled(id: SessionId): Promise<void> {
    if (this.#hands.has(id)) await this.#refresh([id]);
  }

  get inHand(): number {
    return this.#hands.size;
  }

  /** Stops looking and waiting. What runs goes on; its results are for whoever starts next. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('process-watcher goes down'));
    for (const timer of this.#timers) clearInterval(timer);
    this.#pins.stop();
    await Promise.allSettled([...this.#atWork, this.#background.stopped()]);
    this.commands.close();
  }

  async #adopt(id: SessionId, names: readonly string[]): Promise<void> {
    const loaded = await this.#options.sessions.load(id);
    if (!(await this.#pins.isOurs(loaded))) return;
    const wanted = new Set([
      ...callsToCarryOut(loaded).flatMap(({ callId }) => [
        takenName(callId),
        foregroundName(callId),
        processIdOf(id, callId),
      ]),
      ...loaded.state.processes
        .filter(({ status }) => status === 'running')
        .map(({ processId }) => processId),
    ]);
    for (const name of names.filter((one) => !wanted.has(one))) {
      // Its end is in the log already, or its call was closed while nobody was there to end it.
      if (loaded.state.processes.some(({ processId }) => processId === name)) this.commands.settled(id, name);
      else await this.#background.abandon(id, name);
    }
    await this.look(id);
  }

  #follow(loaded: Loaded, process: ProcessState): void {
    const { processId } = process;
    // Its files are not here when its host is gone for good: then it is lost, and said to be.
    this.#background.track(loaded.id, processId);
    if (!process.killRequested || this.#killing.has(processId)) return;
    this.#killing.add(processId);
    this.#work(
      this.commands
        .stop(loaded.id, processId)
        .then((survivors) => {
          if (survivors.length > 0) {
            this.#options.logger.warn(
              { session_id: loaded.id, process_id: processId, survivors },
              'some of it lives on',
            );
          }
        })
        .finally(() => this.#killing.delete(processId)),
    );
  }

  /** False: it is another watcher's. */
  async #takeUp(look: Look, loaded: Loaded, call: OpenedCall): Promise<boolean> {
    const { id } = loaded;
    const { whose, now } = await this.#pins.claim(id, call);
    if (whose === 'theirs') return false;
    // Another look took it up meanwhile, and its result is in the log: begun again, it would be carried out twice, since
    // its files are gone (C14; found by the chaos, seed 11: Postgres was frozen between the look and the claim).
    if (look.ended.has(call.callId)) return true;
    const hand = this.#hands.get(id) ?? { loaded, calls: new Map() };
    if (hand.calls.has(call.callId) || this.#closing.signal.aborted) return true;
    this.#noteTaken(id, call);
    const stop = new AbortController();
    hand.calls.set(call.callId, stop);
    this.#hands.set(id, hand);
    const isKnown = whose === 'ours' || this.#hasFiles(id, call);
    this.#work(
      this.#carryOut(
        { ...call, sessionId: id, loaded, takenUpAt: now, stop: stop.signal, signal: this.#closing.signal },
        isKnown,
      ).finally(() => {
        for (const look of this.#looks) if (look.id === id) look.ended.add(call.callId);
        hand.calls.delete(call.callId);
        if (hand.calls.size > 0) return;
        this.#hands.delete(id);
        this.#pins.release(id);
      }),
    );
    return true;
  }

  #noteTaken(id: SessionId, { callId }: OpenedCall): void {
    try {
      this.#options.places.takeUp(id, callId);
    } catch (error) {
      // A full disk: who starts after us learns of it from the sweep.
      this.#options.logger.warn({ err: error, session_id: id }, 'a call in hand could not be noted');
    }
  }

  #hasFiles(id: SessionId, { callId }: OpenedCall): boolean {
    return (
      this.commands.wasBegun(id, foregroundName(callId)) ||
      this.commands.wasBegun(id, processIdOf(id, callId))
    );
  }

  async #carryOut(call: Call, isKnown: boolean): Promise<void> {
    await withSpan(
      `carry out ${call.tool}`,
      {
        attributes: { 'gen_ai.tool.call.id': call.callId, 'gen_ai.conversation.id': call.sessionId },
        parent: call.traceparent,
      },
      async () => {
        const end = isKnown ? await this.#run(call) : BEGUN_ELSEWHERE;
        if (end !== null) await this.#finish(call, end);
        this.#options.places.putDown(call.sessionId, call.callId);
      },
    );
  }

  async #run(call: Call): Promise<CallEnd | null> {
    const deps = {
      config: this.#options.config,
      commands: this.commands,
      background: this.#background,
      sessions: this.#options.sessions,
    };
    return untilDone(call.signal, async () => {
      switch (call.tool) {
        case 'terminal':
          return terminal(call, deps);
        case 'process':
          return processTool(call, deps);
        case agentTools.command:
          return agentCommand(call, deps);
        default:
          return { outcome: 'error', result: JSON.stringify({ error: `there is no tool ${call.tool}` }) };
      }
    });
  }

  async #finish(call: Call, end: CallEnd): Promise<void> {
    const { sessionId, callId } = call;
    const finish: SessionCommand = {
      type: 'finish-tool',
      generation: null,
      callId,
      outcome: end.outcome,
      result: end.result,
      watcher: this.#options.instance,
    };
    const executed = await untilDone(call.signal, () =>
      this.#options.sessions.execute(sessionId, ({ state }) =>
        decideAll(state, [...(end.also ?? []), finish]),
      ),
    );
    if (executed.status !== 'refused') return end.recorded?.();
    this.#options.logger.debug(
      { session_id: sessionId, call: callId, reason: executed.reason },
      'nobody waits for a result any more',
    );
    await (end.refused?.() ?? end.recorded?.());
  }

  /** Some at once; one that fails does not hold up those behind it. Returns those that failed. */
  async #forEach<T>(items: readonly T[], work: (item: T) => Promise<void>, what: string): Promise<T[]> {
    const failed: T[] = [];
    let reason: unknown;
    const waiting = items.values();
    const takeNext = async (): Promise<void> => {
      for (const item of waiting) {
        if (this.#closing.signal.aborted) return;
        try {
          await work(item);
        } catch (error) {
          failed.push(item);
          reason = error;
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, takeNext));
    if (failed.length > 0 && !this.#closing.signal.aborted) {
      const sessions = failed.slice(0, NAMED_AT_MOST);
      this.#options.logger.warn(
        { err: reason, failed: failed.length, of: items.length, sessions },
        `some sessions were not ${what}`,
      );
    }
    return failed;
  }

  /** One that takes longer than that is not joined by a second one. */
  #every(ms: number, work: () => Promise<void>): void {
    let isBusy = false;
    const timer = setInterval(() => {
      if (isBusy) return;
      isBusy = true;
      void this.#aside(work).finally(() => {
        isBusy = false;
      });
    }, ms);
    this.#timers.push(timer.unref());
  }

  /** What comes again in a moment anyway. */
  async #aside(work: () => Promise<void>): Promise<void> {
    try {
      if (!this.#closing.signal.aborted) await work();
    } catch (error) {
      this.#options.logger.debug({ err: error }, 'could not look around: Postgres is away');
    }
  }

  /** Ends what nobody waits for any more. The reads of many sessions are one query. */
  async #refresh(ids: readonly SessionId[]): Promise<void> {
    await Promise.all(
      ids.map(async (id) => {
        const hand = this.#hands.get(id);
        if (hand === undefined) return;
        hand.loaded = await this.#options.sessions.refresh(hand.loaded);
        const open = new Set(callsToCarryOut(hand.loaded).map(({ callId }) => callId));
        for (const [callId, stop] of hand.calls) if (!open.has(callId)) stop.abort();
      }),
    );
  }

  #work(work: Promise<void>): void {
    const safe = work
      .catch((error: unknown) => {
        if (!this.#closing.signal.aborted)
          this.#options.logger.error({ err: error }, 'a call could not be carried out');
      })
      .finally(() => this.#atWork.delete(safe));
    this.#atWork.add(safe);
  }
}

/** Another watcher may have begun it, and is gone with its files (C14). */
const BEGUN_ELSEWHERE: CallEnd = {
  outcome: 'unknown',
  result: JSON.stringify({
    error: 'the host that this was begun on is gone: whether it was carried out is not known',
  }),
};
