import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { CurrentConfig } from '@angelia/config';
import { AngeliaError, type ProcessWatcherConfig, type SessionId } from '@angelia/contracts';
import type { Logger } from '@angelia/service-kit';
import type { Loaded } from '@angelia/sessions';
import { pause, WakeUp } from '@angelia/waiting';
import { type Misplaced, placeReceived, receivedFiles, removeReceived } from '../files/received-files.ts';
import type { Enclosed, Isolation } from '../isolation/isolation.ts';
import { withLimits } from '../isolation/limits.ts';
import type { SessionDirectories } from '../session-directories.ts';
import { isAlive, membersOf, signalGroup } from '../supervisor/process-identity.ts';
import {
  EXIT_FILE,
  type ExitRecord,
  MARK_VARIABLE,
  type ProcessIdentity,
  START_MARKER_FILE,
  STARTED_FILE,
  type StartMarker,
  type StartReply,
  type StartRequest,
  type StopReply,
  type WriteReply,
} from '../supervisor/protocol.ts';
import { SupervisorClient, SupervisorSilent } from '../supervisor/supervisor-client.ts';
import type { CommandTraces } from '../supervisor/user-processes.ts';
import { accountOf } from '../users/account-files.ts';
import { canEnter } from '../users/directory-access.ts';
import type { SessionUsers } from '../users/session-users.ts';
import { openToGroup } from '../users/shared-directories.ts';
import type { User } from '../users/user-policy.ts';
import { limitReason } from './limit-reason.ts';
import { commandEnvironment } from './shell.ts';

/** Between SIGTERM and SIGKILL: time for a program to save something before it ends. */
const GRACE_MS = 3_000;
/** How often to look for the end of a command if the supervisor says nothing: it may have died. */
const CHECK_MS = 1_000;
/** Between two looks at a command that is stopped without its supervisor. */
const STOP_LOOK_MS = 100;

interface CommandLine {
  readonly sessionId: SessionId;
  /** The name of its directory: a `foregroundName` or the id of a process. */
  readonly name: string;
  readonly argv: readonly string[];
  /** Relative to the session's working directory. */
  readonly cwd?: string | undefined;
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** Directories that the sessions of the agent use together. */
  readonly sharedDirectories?: readonly string[] | undefined;
  readonly stdin: StartRequest['stdin'];
  readonly separateErrors?: boolean;
  readonly keepBytes?: number | undefined;
  readonly lifetimeSeconds: number;
  readonly idleSeconds?: number;
  readonly watchPatterns?: readonly string[];
  readonly endLeftovers: boolean;
  readonly graceMs?: number;
}

export type CommandEnd =
  | { readonly kind: 'exited'; readonly exit: ExitRecord }
  /** It is gone, and nobody knows how it ended. */
  | { readonly kind: 'lost'; readonly reason: string };

/** The commands on this host: started under the supervisor, and found again by their files. */
export class HostCommands {
  readonly #directories: SessionDirectories;
  readonly #current: CurrentConfig;
  readonly #users: SessionUsers;
  readonly #isolation: () => Isolation;
  readonly #supervisors: SupervisorClient;
  readonly #logger: Logger;
  readonly #graceMs: number;
  /** By directory: wakes those that wait for the command's end. */
  readonly #endWaits = new Map<string, Set<WakeUp>>();
  readonly #matchListeners = new Map<string, () => void>();
  readonly #running = new Set<string>();
  /** By session: the last work that must not overlap with other work, such as starting a command and ending strays. */
  readonly #turns = new Map<SessionId, Promise<unknown>>();

  constructor(options: {
    readonly directories: SessionDirectories;
    readonly config: CurrentConfig;
    readonly users: SessionUsers;
    /** Asked for every command: a new config may change it. */
    readonly isolation: () => Isolation;
    readonly instance: string;
    readonly logger: Logger;
    /** How long the supervisor may take to answer; default: as in `SupervisorClient`. */
    readonly answerMs?: number | undefined;
    /** Default: GRACE_MS. */
    readonly graceMs?: number | undefined;
  }) {
    this.#directories = options.directories;
    this.#current = options.config;
    this.#users = options.users;
    this.#isolation = options.isolation;
    this.#logger = options.logger;
    this.#graceMs = options.graceMs ?? GRACE_MS;
    this.#supervisors = new SupervisorClient({
      own: options.directories.supervisorDirectory(options.instance),
      work: options.directories.workElsewhere,
      logger: options.logger,
      answerMs: options.answerMs,
      onEvent: (event, dir) => {
        if (event === 'matched') this.#matchListeners.get(dir)?.();
        else for (const wakeUp of this.#endWaits.get(dir) ?? []) wakeUp.wake();
      },
    });
  }

  get #config(): ProcessWatcherConfig {
    return this.#current.current.process_watcher;
  }

  /** How many commands are waited for: what `max_processes` limits. */
  get running(): number {
    return this.#running.size;
  }

  get isFull(): boolean {
    return this.#running.size >= this.#config.max_processes;
  }

  directory(id: SessionId, name: string): string {
    return this.#directories.commandDirectory(id, name);
  }

  workingDirectory(id: SessionId, cwd?: string): string {
    const work = this.#directories.makeWorkDirectory(id, this.#users.of(id));
    return cwd === undefined ? work : resolve(work, cwd);
  }

  /** Whether the command was started, by us or by a predecessor. */
  wasStarted(id: SessionId, name: string): boolean {
    return existsSync(join(this.directory(id, name), START_MARKER_FILE));
  }

  /** Puts the files of the session's messages into its working directory. Returns what could not be put there. */
  async placeReceived(loaded: Loaded): Promise<readonly Misplaced[]> {
    const { id } = loaded;
    const files = receivedFiles(loaded);
    if (files.length === 0) return [];
    return this.#inTurn(id, async () => {
      const user = this.#users.of(id);
      const work = this.workingDirectory(id);
      return placeReceived(files, { work, user, list: this.#directories.makeReceivedList(id) });
    });
  }

  async removeReceived(id: SessionId): Promise<void> {
    const place = { work: this.#directories.workDirectory(id), list: this.#directories.receivedList(id) };
    await this.#inTurn(id, () => removeReceived(place));
  }

  /** Starts a command once: a second call says how the first one went. */
  start(line: CommandLine): Promise<StartReply> {
    return this.#inTurn(line.sessionId, () => this.#start(line));
  }

  async #start(line: CommandLine): Promise<StartReply> {
    const { sessionId: id, name } = line;
    const dir = this.directory(id, name);
    // Counted from here on, so that commands that begin at the same time count as well.
    this.#running.add(dir);
    let reply: StartReply = { status: 'failed', reason: 'it was not started' };
    try {
      const request = this.#startRequest(line);
      reply =
        typeof request === 'string'
          ? { status: 'failed', reason: request }
          : await this.#supervisors.ask(request);
    } finally {
      if (reply.status === 'failed') this.#running.delete(dir);
    }
    if (reply.status === 'failed') this.#directories.removeCommand(id, name);
    return reply;
  }

  /** Returns a text if the command cannot be started: why. */
  #startRequest(line: CommandLine): StartRequest | string {
    const { sessionId: id, name } = line;
    let user: User | null = null;
    const separateErrors = line.separateErrors ?? false;
    const joinErrors = !separateErrors;
    let [work, cwd, dir] = ['', '', ''];
    const paths = line.sharedDirectories ?? [];
    let groups: readonly number[] = [];
    let environment: Record<string, string>;
    let program: Enclosed;
    try {
      user = this.#users.of(id);
      work = this.workingDirectory(id);
      cwd = this.workingDirectory(id, line.cwd);
      dir = this.#directories.makeCommandDirectory(id, name);
      groups = paths.flatMap((path) => this.#users.shared.groupOf(path) ?? []);
      const account = accountOf(user, this.#directories.makeSessionDirectory(id), work);
      const named = { USER: account.name, LOGNAME: account.name };
      environment = commandEnvironment(work, id, named, this.#config.environment, line.environment ?? {});
      const limited = withLimits(line.argv, this.#config, {
        cwd,
        joinErrors,
        groupMayWrite: groups.length > 0,
        path: environment.PATH ?? '',
      });
      program = this.#isolation().enclose(limited, {
        work,
        user,
        account,
        shared: { paths, groups },
        joinErrors,
      });
    } catch (error) {
      if (error instanceof AngeliaError) return error.message;
      // The disk is full, or no user is left. The model need not see the path after the comma.
      return (error as Error).message.split(',')[0] ?? '';
    }
    const closed = [cwd, ...paths].find((path) => !canEnter(path, user, groups));
    if (closed !== undefined) return `there is no directory ${closed} that this session may enter`;
    const { env: fromIsolation, ...started } = program;
    const mark = markOf(id, name);
    const own = {
      PWD: cwd,
      ANGELIA_CONVERSATION_ID: this.#directories.placeOf(id),
      [MARK_VARIABLE]: mark,
    };
    return {
      op: 'start',
      dir,
      ...started,
      env: { ...environment, ...fromIsolation, ...own },
      mark,
      // The sessions of a conversation have one user, and their memory counts together.
      session: this.#directories.placeOf(id),
      sessionMemoryBytes: this.#config.session_memory_bytes,
      user,
      userIsOwn: this.#users.existing(id) !== null,
      stdin: line.stdin,
      separateErrors,
      keepBytes: line.keepBytes ?? this.#config.output_bytes,
      lifetimeMs: line.lifetimeSeconds * 1000,
      idleMs: line.idleSeconds ? line.idleSeconds * 1000 : null,
      graceMs: line.graceMs ?? this.#graceMs,
      watchPatterns: line.watchPatterns ?? [],
      endLeftovers: line.endLeftovers,
    };
  }

  /** Lets the other sessions of the agent use what a command of this one has made in the directories that they share. */
  async openShared(id: SessionId, paths: readonly string[]): Promise<void> {
    const user = this.#users.existing(id);
    for (const path of user === null ? [] : paths) {
      try {
        const group = this.#users.shared.groupOf(path);
        if (user !== null && group !== null) await openToGroup(path, user, group);
      } catch (error) {
        this.#logger.warn(
          { err: error, session_id: id },
          `${path}: not all files are open to other sessions`,
        );
      }
    }
  }

  /** Resolves when the command has ended or is lost. Throws when the signal is aborted; the command then keeps running. */
  async untilEnded(id: SessionId, name: string, signal: AbortSignal): Promise<CommandEnd> {
    const dir = this.directory(id, name);
    const wakeUp = new WakeUp();
    const waits = this.#endWaits.get(dir) ?? new Set();
    this.#endWaits.set(dir, waits.add(wakeUp));
    this.#running.add(dir);
    try {
      for (;;) {
        signal.throwIfAborted();
        const end = await this.#endOf(dir);
        if (end?.kind === 'exited' && end.exit.limit === 'memory') {
          this.#logger.warn(
            { session_id: id, command: name },
            `a command was ended: ${limitReason('memory', this.#config)}`,
          );
        }
        if (end !== null) return end;
        await wakeUp.wait(CHECK_MS, signal);
      }
    } finally {
      waits.delete(wakeUp);
      if (waits.size === 0) this.#endWaits.delete(dir);
      this.#running.delete(dir);
    }
  }

  /** Null if the command has not ended. */
  async #endOf(dir: string): Promise<CommandEnd | null> {
    const exit = readJson<ExitRecord>(join(dir, EXIT_FILE));
    if (exit !== null) return { kind: 'exited', exit };
    if (!existsSync(dir)) return { kind: 'lost', reason: 'its files are gone' };
    const reply = await this.#askItsSupervisor(dir, { op: 'has', dir });
    // A supervisor that hangs may still record the end: the command is not lost, and we look again.
    if (reply === 'silent' || reply?.known) return null;
    // The supervisor may have written the exit between our two looks.
    const late = readJson<ExitRecord>(join(dir, EXIT_FILE));
    if (late !== null) return { kind: 'exited', exit: late };
    const identity = readJson<ProcessIdentity>(join(dir, STARTED_FILE));
    if (identity === null) return { kind: 'lost', reason: 'it was interrupted while it was being started' };
    // Without its supervisor the exit code is lost already. When it ends is still worth knowing.
    if (isAlive(identity)) return null;
    return { kind: 'lost', reason: 'it is gone and so is its supervisor: how it ended is not known' };
  }

  /** Null if the command has not ended. */
  exitOf(id: SessionId, name: string): ExitRecord | null {
    return readJson<ExitRecord>(join(this.directory(id, name), EXIT_FILE));
  }

  identityOf(id: SessionId, name: string): ProcessIdentity | null {
    return readJson<ProcessIdentity>(join(this.directory(id, name), STARTED_FILE));
  }

  onMatch(id: SessionId, name: string, listener: () => void): () => void {
    const dir = this.directory(id, name);
    this.#matchListeners.set(dir, listener);
    return () => this.#matchListeners.delete(dir);
  }

  /** Writes to a command's standard input. `silent`: the supervisor does not answer, and may still write it. */
  async write(
    id: SessionId,
    name: string,
    data: string,
    end: boolean,
  ): Promise<WriteReply['status'] | 'silent'> {
    const dir = this.directory(id, name);
    const reply: WriteReply | 'silent' | null = await this.#askItsSupervisor(dir, {
      op: 'write',
      dir,
      data,
      end,
    });
    return reply === 'silent' ? reply : (reply?.status ?? 'unknown');
  }

  /** Ends a command's whole group, and its processes that left the group. Returns the pids that survived. */
  async stop(id: SessionId, name: string, graceMs = this.#graceMs): Promise<readonly number[]> {
    const dir = this.directory(id, name);
    const reply: StopReply | 'silent' | null = await this.#askItsSupervisor(dir, {
      op: 'stop',
      dir,
      graceMs,
    });
    const survivors =
      reply !== 'silent' && reply?.known
        ? reply.survivors
        : await this.#stopWithoutSupervisor(id, name, graceMs);
    await this.endStraysOf(id, name, 'end');
    return survivors;
  }

  /** Signals only this very process, and its group while it leads it: never a pid that was reused (E5). */
  async #stopWithoutSupervisor(id: SessionId, name: string, graceMs: number): Promise<readonly number[]> {
    const identity = this.identityOf(id, name);
    if (identity === null || !isAlive(identity)) return [];
    signalGroup(identity.pid, 'SIGTERM');
    for (const until = performance.now() + graceMs; performance.now() < until; ) {
      await pause(STOP_LOOK_MS);
      if (!isAlive(identity)) return [];
    }
    if (isAlive(identity)) signalGroup(identity.pid, 'SIGKILL');
    await pause(STOP_LOOK_MS);
    return isAlive(identity) ? membersOf(identity.pid) : [];
  }

  /**
   * Ends what a command left that nobody knows of: a daemon that left its process group and emptied its environment, and
   * that only its user identifies. While other commands of the session run, this spares what is theirs: everything that
   * is known as theirs, and everything older than this command. `leftovers: 'keep'` also spares what is known as this
   * command's own. Returns how many it ended; 0 if sessions have no users of their own, as nobody can tell then.
   */
  endStraysOf(id: SessionId, name: string, leftovers: 'end' | 'keep'): Promise<number> {
    return this.#inTurn(id, async () => {
      if (this.#users.existing(id) === null) return 0;
      const living = await this.#living(id);
      const spared = living.filter(({ mark }) => leftovers === 'keep' || mark !== markOf(id, name));
      if (spared.length === 0) return this.#users.end(id);
      const olderThan = this.identityOf(id, name);
      return olderThan === null ? 0 : this.#users.end(id, { commands: spared, olderThan });
    });
  }

  /** Ends all processes of a session if none of its commands runs any more. */
  endStrays(id: SessionId): Promise<number> {
    return this.#inTurn(id, async () => ((await this.#living(id)).length === 0 ? this.#users.end(id) : 0));
  }

  /** The commands of a session, and of others of its conversation, that run or that left something running. */
  async #living(id: SessionId): Promise<CommandTraces[]> {
    const living: CommandTraces[] = [];
    for (const member of this.#directories.sessionsAt(this.#directories.placeOf(id))) {
      for (const name of this.#directories.commandsOf(member)) {
        const dir = this.directory(member, name);
        const reply = await this.#askItsSupervisor(dir, { op: 'has', dir });
        const identity = this.identityOf(member, name);
        // A supervisor that hangs may have the command, so it is spared.
        const lives = reply === 'silent' || reply?.known || (identity !== null && isAlive(identity));
        if (lives) living.push({ identity, mark: markOf(member, name) });
      }
    }
    return living;
  }

  /** The command's end is in the log. */
  markSettled(id: SessionId, name: string): void {
    this.#directories.markSettled(id, name);
  }

  forget(id: SessionId, name: string): void {
    this.#running.delete(this.directory(id, name));
    this.#directories.removeCommand(id, name);
  }

  /**
   * Ends all processes of a session, and removes its files. The working directory of a conversation stays while another
   * session of the conversation has files here.
   */
  async forgetSession(id: SessionId): Promise<void> {
    const place = this.#directories.placeOf(id);
    const isShared = () => this.#directories.sessionsAt(place).length > 1;
    // Their user alone does not tell whose they are.
    if (isShared()) for (const name of this.#directories.commandsOf(id)) await this.stop(id, name, 0);
    await this.#inTurn(id, async () => {
      if (place !== id) return this.#directories.removeSession(id);
      if (isShared()) return this.#directories.removeCommands(id);
      await this.#users.end(id);
      this.#directories.removeSession(id);
    });
  }

  /** Commands keep running. */
  close(): void {
    this.#supervisors.close();
  }

  /** Asks the supervisor that has this command. Null if there is none; `silent` if it does not answer. */
  async #askItsSupervisor<R extends { readonly op: 'has' | 'stop' | 'write'; readonly dir: string }>(
    dir: string,
    request: R & Parameters<SupervisorClient['askAt']>[1],
  ) {
    const marker = readJson<StartMarker>(join(dir, START_MARKER_FILE));
    if (marker === null) return null;
    try {
      return await this.#supervisors.askAt(marker.supervisor, request);
    } catch (error) {
      if (error instanceof SupervisorSilent) return 'silent';
      throw error;
    }
  }

  /** Runs the work after everything that was asked for this session, or another of its conversation, before, even if that failed. */
  #inTurn<T>(session: SessionId, work: () => Promise<T>): Promise<T> {
    const id = this.#directories.placeOf(session);
    const turn = (this.#turns.get(id) ?? Promise.resolve()).then(work, work);
    this.#turns.set(id, turn);
    const over = (): void => {
      if (this.#turns.get(id) === turn) this.#turns.delete(id);
    };
    turn.then(over, over);
    return turn;
  }
}

/** What tells the processes of one command from all others (MARK_VARIABLE). */
function markOf(id: SessionId, name: string): string {
  return `${id}/${name}`;
}

/** Null if the file is missing, or incomplete after a power failure. */
function readJson<T>(path: string): T | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as T;
  } catch {
    return null;
  }
}
