import type { CurrentConfig } from '@angelia/config';
import type { SessionId } from '@angelia/contracts';
import { toStorable } from '@angelia/event-log';
import type { Logger } from '@angelia/service-kit';
import { decide, decideAll, type ProcessState, type SessionCommand } from '@angelia/session';
import type { Loaded, Sessions } from '@angelia/sessions';
import { pause } from '@angelia/waiting';
import type { CommandEnd, HostCommands } from '../commands/host-commands.ts';
import { limitReason } from '../commands/limit-reason.ts';
import { asText, readTail } from '../commands/read-output.ts';
import { retryUntilDone } from '../retry-until-done.ts';
import { OUTPUT } from '../supervisor/protocol.ts';
import { readMatches } from './read-matches.ts';

/** How much of the output a notice shows: what a person would look at first. `process log` has all of it. */
const TAIL_BYTES = 4_000;

/** Which matches are in the log, and the session at that time, so that the next record only reads what is new. */
interface RecordedMatches {
  /** Position in the file of matches. */
  bytes: number;
  loaded: Loaded | null;
}

/**
 * Follows background processes, from their start to the record of their end.
 *
 *   starting --process.started--> tracked --process.matched*--> tracked --process.exited | lost--> settled
 *
 * Everything tracked here is also on disk (session-directories.ts, `running`): a watcher that starts again continues
 * where this one stopped. A report that comes twice is recorded once (libs/session/src/processes).
 */
export class BackgroundProcesses {
  readonly #config: CurrentConfig;
  readonly #commands: HostCommands;
  readonly #sessions: Pick<Sessions, 'execute'>;
  readonly #logger: Logger;
  readonly #signal: AbortSignal;
  /** By process id. Resolves when the end is in the log, or when the process is not followed any more. Never rejects. */
  readonly #tracked = new Map<string, Promise<void>>();
  /** Started here and not known to have ended. The log may not have them yet. */
  readonly #starting = new Map<SessionId, Set<string>>();

  constructor(options: {
    readonly config: CurrentConfig;
    readonly commands: HostCommands;
    readonly sessions: Pick<Sessions, 'execute'>;
    readonly logger: Logger;
    /** Aborted when this watcher is shutting down. */
    readonly signal: AbortSignal;
  }) {
    this.#config = options.config;
    this.#commands = options.commands;
    this.#sessions = options.sessions;
    this.#logger = options.logger;
    this.#signal = options.signal;
  }

  isTracked(processId: string): boolean {
    return this.#tracked.has(processId);
  }

  /** The ids of a session's living processes: those that its state shows, and those that the log does not know yet. */
  aliveOf(id: SessionId, recorded: readonly ProcessState[]): ReadonlySet<string> {
    const running = recorded.filter(({ status }) => status === 'running').map(({ processId }) => processId);
    return new Set([...running, ...(this.#starting.get(id) ?? [])]);
  }

  noteStarting(id: SessionId, processId: string): void {
    const starting = this.#starting.get(id) ?? new Set();
    this.#starting.set(id, starting.add(processId));
  }

  noteOver(id: SessionId, processId: string): void {
    const starting = this.#starting.get(id);
    starting?.delete(processId);
    if (starting?.size === 0) this.#starting.delete(id);
  }

  /** Follows a process whose start is in the log, until its end is. */
  track(id: SessionId, processId: string): void {
    if (this.#tracked.has(processId) || this.#signal.aborted) return;
    const over = this.#follow(id, processId)
      .catch((error: unknown) => {
        if (!this.#signal.aborted) {
          this.#logger.error(
            { err: error, session_id: id, process_id: processId },
            'a process is no longer followed',
          );
        }
      })
      .finally(() => {
        this.#tracked.delete(processId);
        this.noteOver(id, processId);
      });
    this.#tracked.set(processId, over);
  }

  /** Ends a command that nobody knows of and whose result nobody can be told. */
  async abandon(id: SessionId, name: string): Promise<void> {
    this.noteOver(id, name);
    await this.#commands.stop(id, name);
    this.#commands.forget(id, name);
  }

  /** Resolves when the end is in the log, after `ms`, or when `stop` is aborted. */
  async waitForEnd(processId: string, ms: number, stop: AbortSignal): Promise<void> {
    const ended = new AbortController();
    try {
      const timeout = pause(ms, AbortSignal.any([stop, ended.signal]));
      await Promise.race([this.#tracked.get(processId), timeout]);
    } finally {
      ended.abort();
    }
  }

  /** After the signal was aborted: resolves when nothing is being recorded any more. */
  async stopped(): Promise<void> {
    await Promise.all(this.#tracked.values());
  }

  async #follow(id: SessionId, processId: string): Promise<void> {
    const recorded: RecordedMatches = { bytes: 0, loaded: null };
    let matching = Promise.resolve();
    let isQueued = false;
    const onMatch = (): void => {
      if (isQueued) return; // The queued read will find this match too.
      isQueued = true;
      matching = matching
        .then(() => {
          isQueued = false;
          return this.#recordMatches(id, processId, recorded);
        })
        // Caught here, not where it is awaited: when this watcher is shutting down that line is not reached, and an unhandled
        // rejection ends the whole process.
        .catch((error: unknown) => this.#matchesNotRecorded(id, processId, error));
    };
    const unlisten = this.#commands.onMatch(id, processId, onMatch);
    try {
      onMatch();
      const end = await this.#commands.untilEnded(id, processId, this.#signal);
      // What it printed before its end is recorded before its end.
      onMatch();
      await matching;
      await this.#recordEnd(id, processId, end);
      this.#commands.markSettled(id, processId);
      await this.#commands.endStraysOf(id, processId, 'keep');
    } finally {
      unlisten();
      await matching;
    }
  }

  #matchesNotRecorded(id: SessionId, processId: string, error: unknown): void {
    if (this.#signal.aborted) return; // The next watcher reads them from the file.
    this.#logger.error(
      { err: error, session_id: id, process_id: processId },
      'a match was not recorded; will retry with the next match and at the end',
    );
  }

  async #recordMatches(id: SessionId, processId: string, recorded: RecordedMatches): Promise<void> {
    for (;;) {
      const { matches, next } = readMatches(this.#commands.directory(id, processId), recorded.bytes);
      if (next === recorded.bytes) return;
      const commands = matches.map(
        ({ match, pattern, line, overload }): SessionCommand => ({
          type: 'process-matched',
          processId,
          match,
          pattern: toStorable(pattern),
          line: toStorable(line),
          overload,
        }),
      );
      const { loaded } = recorded;
      const executed = await retryUntilDone(this.#signal, () =>
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
    const outputTail = toStorable(asText(tail.bytes, { start: tail.from > 0 }).trimEnd());
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
            reason: limitReason(end.exit.limit, this.#config.current.process_watcher),
          };
    const executed = await retryUntilDone(this.#signal, () =>
      this.#sessions.execute(id, ({ state }) => decide(state, ended)),
    );
    if (executed.status === 'refused') {
      this.#logger.warn(
        { session_id: id, process_id: processId, reason: executed.reason },
        'the session refused the end of a process',
      );
    }
  }
}

/** Enough to continue from. A process may match for days, and its session's events need not stay in memory that long. */
function withoutHistory(loaded: Loaded): Loaded {
  return { ...loaded, events: loaded.events.slice(-1) };
}
