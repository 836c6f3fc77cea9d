import { hostname } from 'node:os';
import type { Config, SessionId, TerminalArguments } from '@angelia/contracts';
import { storable } from '@angelia/event-log';
import type { Logger, Sessions } from '@angelia/service-kit';
import { decide, decideAll, type SessionCommand } from '@angelia/session';
import { type Call, type CallEnd, callsToCarryOut, failed, ok } from './call.ts';
import type { CommandEnd, Commands } from './commands.ts';
import { shellArgv } from './launch.ts';
import { asText, readTail } from './output.ts';
import { processIdOf } from './places.ts';
import { redactCommand } from './redact-command.ts';
import { OUTPUT } from './supervisor/protocol.ts';
import { tooMany } from './terminal.ts';
import { untilDone } from './until-done.ts';

/** Of the output in a notice: what a person would look at first. All of it can be had by `process log`. */
const TAIL_BYTES = 4_000;

interface Tracked {
  /** `wait` calls by their ids: by them the model learns of the end, and needs no notice. */
  readonly waiting: Set<string>;
  /** The end is in the log, or on its way there. */
  over: Promise<void>;
  recording: boolean;
}

/**
 * Background processes, from the start to the fact of their end.
 *
 *   begun --process.started--> tracked --process.matched*--> tracked --process.exited | lost--> settled
 *
 * What is tracked here is also on disk (places.ts, `running`): a watcher that starts again goes on where this one
 * stopped. Reports that come twice are one (libs/session/src/processes.ts).
 */
export class Background {
  readonly #config: Config;
  readonly #commands: Commands;
  readonly #sessions: Pick<Sessions, 'execute'>;
  readonly #instance: string;
  readonly #logger: Logger;
  readonly #signal: AbortSignal;
  readonly #tracked = new Map<string, Tracked>();
  /** Begun here and not known to have ended; the log hears of them a moment later. */
  readonly #alive = new Map<SessionId, Set<string>>();

  constructor(options: {
    readonly config: Config;
    readonly commands: Commands;
    readonly sessions: Pick<Sessions, 'execute'>;
    readonly instance: string;
    readonly logger: Logger;
    /** Aborted when this watcher goes down. */
    readonly signal: AbortSignal;
  }) {
    this.#config = options.config;
    this.#commands = options.commands;
    this.#sessions = options.sessions;
    this.#instance = options.instance;
    this.#logger = options.logger;
    this.#signal = options.signal;
  }

  isTracked(processId: string): boolean {
    return this.#tracked.has(processId);
  }

  /** Starts a process for a call of `terminal`. */
  async begin(call: Call, args: TerminalArguments): Promise<CallEnd | null> {
    const { sessionId, callId } = call;
    const { state } = call.loaded;
    const processId = processIdOf(sessionId, callId);
    const agent = this.#config.agents[state.created?.agent ?? ''];
    const limits = agent?.kind === 'llm' ? agent.processes : { max_per_session: 0, max_wait_seconds: 0 };
    if (!this.#commands.wasBegun(sessionId, processId)) {
      const recorded = state.processes.filter((process) => process.status === 'running');
      const alive = new Set([...recorded.map((one) => one.processId), ...this.#aliveOf(sessionId)]);
      if (alive.size >= limits.max_per_session) {
        return failed(
          `${alive.size} background processes of this session run already, which is the limit: wait for one or kill one`,
        );
      }
      if (this.#commands.isFull) return failed(tooMany(this.#config));
    }
    this.#aliveOf(sessionId).add(processId);
    const end = await this.#begin(call, args, limits.max_wait_seconds);
    if (end.outcome !== 'ok') this.#isOver(sessionId, processId);
    return end;
  }

  async #begin(call: Call, args: TerminalArguments, maxWaitSeconds: number): Promise<CallEnd> {
    const { sessionId, callId } = call;
    const processId = processIdOf(sessionId, callId);
    const { process_watcher } = this.#config;
    const reply = await this.#commands.start({
      sessionId,
      name: processId,
      argv: shellArgv(args.command, process_watcher),
      cwd: args.cwd,
      stdin: 'open',
      lifetimeSeconds: process_watcher.max_lifetime_seconds,
      idleSeconds: process_watcher.max_idle_seconds,
      watchPatterns: args.watch_patterns,
      endLeftovers: false,
    });
    if (reply.status === 'failed') return failed(`the command could not be started: ${reply.reason}`);
    const identity =
      reply.status === 'started' ? reply.identity : this.#commands.identityOf(sessionId, processId);
    if (identity === null) {
      return {
        outcome: 'unknown',
        result: JSON.stringify({ error: 'the command may or may not have been started' }),
        recorded: () => this.#commands.forget(sessionId, processId),
      };
    }
    const started: SessionCommand = {
      type: 'process-started',
      processId,
      callId,
      command: storable(redactCommand(args.command)),
      host: hostname(),
      bootId: identity.bootId,
      pid: identity.pid,
      pidStartTime: identity.pidStartTime,
      cwd: storable(this.#commands.workingDirectory(sessionId, args.cwd)),
      notifyOnComplete: args.notify_on_complete,
      watchPatterns: args.watch_patterns.map(storable),
      waitDeadline: Date.now() + maxWaitSeconds * 1000,
      watcher: this.#instance,
    };
    return ok(
      { process_id: processId },
      {
        also: [started],
        recorded: () => this.track(sessionId, processId),
        refused: () => this.abandon(sessionId, processId),
      },
    );
  }

  /** Follows a process whose start is in the log, until its end is. */
  track(id: SessionId, processId: string): void {
    if (this.#tracked.has(processId) || this.#signal.aborted) return;
    const tracked: Tracked = { waiting: new Set(), over: Promise.resolve(), recording: false };
    this.#tracked.set(processId, tracked);
    tracked.over = this.#follow(id, processId, tracked)
      .catch((error: unknown) => {
        if (!this.#signal.aborted) {
          this.#logger.error(
            { err: error, session_id: id, process_id: processId },
            'a process is not followed any more',
          );
        }
      })
      .finally(() => {
        this.#tracked.delete(processId);
        this.#isOver(id, processId);
      });
  }

  #aliveOf(id: SessionId): Set<string> {
    const alive = this.#alive.get(id) ?? new Set();
    this.#alive.set(id, alive);
    return alive;
  }

  #isOver(id: SessionId, processId: string): void {
    const alive = this.#aliveOf(id);
    alive.delete(processId);
    if (alive.size === 0) this.#alive.delete(id);
  }

  /** Nobody knows of it, and nobody can be told: it is ended. */
  async abandon(id: SessionId, name: string): Promise<void> {
    this.#isOver(id, name);
    await this.#commands.stop(id, name);
    this.#commands.forget(id, name);
  }

  /**
   * Resolves to true when the end is in the log, consumed by this wait; to false when it goes on after `ms`, or when
   * `stop` is aborted.
   */
  async waitForEnd(
    processId: string,
    ms: number,
    { callId, stop }: Pick<Call, 'callId' | 'stop'>,
  ): Promise<boolean> {
    const tracked = this.#tracked.get(processId);
    if (tracked === undefined) return false;
    tracked.waiting.add(callId);
    let timer: NodeJS.Timeout | undefined;
    let onStop: () => void = () => {};
    const patience = new Promise<false>((resolve) => {
      onStop = () => resolve(false);
      timer = setTimeout(onStop, ms);
      stop.addEventListener('abort', onStop, { once: true });
    });
    try {
      const ended = await Promise.race([tracked.over.then(() => true), patience]);
      if (ended || !tracked.recording) return ended;
      // Its end is being recorded as known to this wait: then it must be told, too.
      await tracked.over;
      return true;
    } finally {
      clearTimeout(timer);
      stop.removeEventListener('abort', onStop);
      tracked.waiting.delete(callId);
    }
  }

  async #follow(id: SessionId, processId: string, tracked: Tracked): Promise<void> {
    let matching = Promise.resolve();
    const onMatch = (): void => {
      matching = matching.then(() => this.#recordMatches(id, processId));
    };
    const unlisten = this.#commands.onMatch(id, processId, onMatch);
    try {
      onMatch();
      const end = await this.#commands.untilEnded(id, processId, this.#signal);
      // What it printed before its end is told before its end.
      onMatch();
      await matching;
      tracked.recording = true;
      await this.#recordEnd(id, processId, end, tracked);
      this.#commands.settled(id, processId);
      await this.#commands.endStraysOf(id, processId, 'keep');
    } finally {
      unlisten();
    }
  }

  async #recordMatches(id: SessionId, processId: string): Promise<void> {
    for (const { match, pattern, line, overload } of this.#commands.matchesOf(id, processId)) {
      await untilDone(this.#signal, () =>
        this.#sessions.execute(id, ({ state }) =>
          decide(state, {
            type: 'process-matched',
            processId,
            match,
            pattern: storable(pattern),
            line: storable(line),
            overload,
          }),
        ),
      );
    }
  }

  async #recordEnd(id: SessionId, processId: string, end: CommandEnd, tracked: Tracked): Promise<void> {
    const tail = readTail(this.#commands.directory(id, processId), OUTPUT, TAIL_BYTES);
    const outputTail = storable(asText(tail.bytes, { start: tail.from > 0 }).trimEnd());
    const ended: SessionCommand =
      end.kind === 'lost'
        ? { type: 'process-lost', processId, reason: end.reason, outputTail }
        : {
            type: 'process-exited',
            processId,
            exitCode: end.exit.exit_code,
            signal: end.exit.signal,
            durationSeconds: end.exit.duration_seconds,
            outputTail,
            reason: limitReached(end.exit.limit, this.#config),
          };
    const known: SessionCommand = { type: 'consume-completion', processId, by: 'wait' };
    const executed = await untilDone(this.#signal, () =>
      this.#sessions.execute(id, (loaded) => {
        // As the log has it: one that was given up a moment ago tells nobody.
        const isWaitedFor = callsToCarryOut(loaded).some(({ callId }) => tracked.waiting.has(callId));
        return decideAll(loaded.state, isWaitedFor ? [known, ended] : [ended]);
      }),
    );
    if (executed.status === 'refused') {
      this.#logger.warn(
        { session_id: id, process_id: processId, reason: executed.reason },
        'the end of a process has no session that takes it',
      );
    }
  }
}

function limitReached(
  limit: 'lifetime' | 'idle' | 'stopped' | null,
  { process_watcher }: Config,
): string | null {
  switch (limit) {
    case 'lifetime':
      return `it ran longer than ${process_watcher.max_lifetime_seconds} s, which is the limit`;
    case 'idle':
      return `it printed nothing for ${process_watcher.max_idle_seconds} s, which is the limit`;
    case 'stopped':
      return 'on request';
    case null:
      return null;
  }
}
