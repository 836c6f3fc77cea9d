import { hostname } from 'node:os';
import type { Config, SessionId, TerminalArguments } from '@angelia/contracts';
import { storable } from '@angelia/event-log';
import type { Logger } from '@angelia/service-kit';
import { decide, decideAll, type SessionCommand } from '@angelia/session';
import type { Loaded, Sessions } from '@angelia/sessions';
import { redactCommand } from '../calls/redact-command.ts';
import { tooMany } from '../calls/terminal-tool.ts';
import { type Call, type CallEnd, failed, ok } from '../calls/tool-call.ts';
import type { CommandEnd, Commands } from '../commands/host-commands.ts';
import { shellArgv } from '../commands/launch.ts';
import { limitReached } from '../commands/limit-reason.ts';
import { asText, readTail } from '../commands/read-output.ts';
import { untilDone } from '../retry-until-done.ts';
import { processIdOf } from '../session-directories.ts';
import { OUTPUT } from '../supervisor/protocol.ts';
import { readMatches } from './read-matches.ts';

/** Of the output in a notice: what a person would look at first. All of it can be had by `process log`. */
const TAIL_BYTES = 4_000;

/** Which matches of a process are in the log, and what the log said then: the next one reads only what is new. */
interface Recorded {
  /** Of the file of matches. */
  bytes: number;
  loaded: Loaded | null;
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
  /** By their ids; resolves when the end is in the log, or when it is not followed any more. Never rejects. */
  readonly #tracked = new Map<string, Promise<void>>();
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
      waitDeadline: call.takenUpAt + maxWaitSeconds * 1000,
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
    const over = this.#follow(id, processId)
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
    this.#tracked.set(processId, over);
  }

  /** After the signal was aborted: resolves when nothing is being recorded any more. */
  async stopped(): Promise<void> {
    await Promise.all(this.#tracked.values());
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

  /** Resolves when the end is in the log, after `ms`, or when `stop` is aborted. */
  async waitForEnd(processId: string, ms: number, { stop }: Pick<Call, 'stop'>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    let onStop: () => void = () => {};
    const patience = new Promise<void>((resolve) => {
      onStop = resolve;
      timer = setTimeout(resolve, ms);
      stop.addEventListener('abort', onStop, { once: true });
    });
    try {
      await Promise.race([this.#tracked.get(processId), patience]);
    } finally {
      clearTimeout(timer);
      stop.removeEventListener('abort', onStop);
    }
  }

  async #follow(id: SessionId, processId: string): Promise<void> {
    const recorded: Recorded = { bytes: 0, loaded: null };
    let matching = Promise.resolve();
    let isQueued = false;
    const onMatch = (): void => {
      if (isQueued) return; // It will read all that there is by then.
      isQueued = true;
      matching = matching
        .then(() => {
          isQueued = false;
          return this.#recordMatches(id, processId, recorded);
        })
        // Here, and not where it is awaited: that is not reached when this watcher goes down, and a rejection that nobody
        // handles ends the whole process.
        .catch((error: unknown) => this.#notRecorded(id, processId, error));
    };
    const unlisten = this.#commands.onMatch(id, processId, onMatch);
    try {
      onMatch();
      const end = await this.#commands.untilEnded(id, processId, this.#signal);
      // What it printed before its end is told before its end.
      onMatch();
      await matching;
      await this.#recordEnd(id, processId, end);
      this.#commands.settled(id, processId);
      await this.#commands.endStraysOf(id, processId, 'keep');
    } finally {
      unlisten();
      await matching;
    }
  }

  #notRecorded(id: SessionId, processId: string, error: unknown): void {
    if (this.#signal.aborted) return; // The files are for the next watcher.
    this.#logger.error(
      { err: error, session_id: id, process_id: processId },
      'a match could not be recorded: tried again with the next one, and at the end',
    );
  }

  async #recordMatches(id: SessionId, processId: string, recorded: Recorded): Promise<void> {
    for (;;) {
      const { matches, next } = readMatches(this.#commands.directory(id, processId), recorded.bytes);
      if (next === recorded.bytes) return;
      const commands = matches.map(
        ({ match, pattern, line, overload }): SessionCommand => ({
          type: 'process-matched',
          processId,
          match,
          pattern: storable(pattern),
          line: storable(line),
          overload,
        }),
      );
      const { loaded } = recorded;
      const executed = await untilDone(this.#signal, () =>
        this.#sessions.execute(
          id,
          ({ state }) => decideAll(state, commands),
          loaded === null ? {} : { loaded },
        ),
      );
      recorded.bytes = next;
      recorded.loaded = 'loaded' in executed ? withoutHistory(executed.loaded) : null;
    }
  }

  async #recordEnd(id: SessionId, processId: string, end: CommandEnd): Promise<void> {
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
            reason: limitReached(end.exit.limit, this.#config.process_watcher),
          };
    const executed = await untilDone(this.#signal, () =>
      this.#sessions.execute(id, ({ state }) => decide(state, ended)),
    );
    if (executed.status === 'refused') {
      this.#logger.warn(
        { session_id: id, process_id: processId, reason: executed.reason },
        'the end of a process has no session that takes it',
      );
    }
  }
}

/** Enough to go on from: a process may match for days, and its session's events need not stay in memory for that. */
function withoutHistory(loaded: Loaded): Loaded {
  return { ...loaded, events: loaded.events.slice(-1) };
}
