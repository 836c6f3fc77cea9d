import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { ProcessWatcherConfig, SessionId } from '@angelia/contracts';
import type { Logger } from '@angelia/service-kit';
import type { Enclosed, Isolation } from '../isolation/isolation.ts';
import type { Places } from '../session-directories.ts';
import { isAlive, membersOf, signalGroup } from '../supervisor/process-identity.ts';
import {
  BEGUN_FILE,
  type BegunRecord,
  EXIT_FILE,
  type ExitRecord,
  MARK_VARIABLE,
  type ProcessIdentity,
  STARTED_FILE,
  type StartReply,
  type StartRequest,
  type StopReply,
  type WriteReply,
} from '../supervisor/protocol.ts';
import { SupervisorSilent, Supervisors } from '../supervisor/supervisor-client.ts';
import type { CommandTraces } from '../supervisor/user-processes.ts';
import { mayEnter } from '../users/directory-access.ts';
import type { Users } from '../users/session-users.ts';
import type { User } from '../users/user-policy.ts';
import { environmentOf, underLimits } from './launch.ts';
import { limitReached } from './limit-reason.ts';

/** Between SIGTERM and SIGKILL: for a program that saves something on its way out. */
const GRACE_MS = 3_000;
/** For the case that the supervisor's word did not come: it died. */
const LOOK_MS = 1_000;

export interface CommandLine {
  readonly sessionId: SessionId;
  /** Of its directory: `foregroundName` or the id of a process. */
  readonly name: string;
  readonly argv: readonly string[];
  /** Seen from the session's working directory. */
  readonly cwd?: string | undefined;
  readonly environment?: Readonly<Record<string, string>> | undefined;
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
  /** It is gone, and how it ended nobody knows. */
  | { readonly kind: 'lost'; readonly reason: string };

/** Commands on this host: started under the supervisor, found again by their files. */
export class Commands {
  readonly #places: Places;
  readonly #config: ProcessWatcherConfig;
  readonly #users: Users;
  readonly #isolation: Isolation;
  readonly #supervisors: Supervisors;
  readonly #logger: Logger;
  readonly #graceMs: number;
  readonly #endWaits = new Map<string, Set<() => void>>();
  readonly #matchListeners = new Map<string, () => void>();
  readonly #running = new Set<string>();
  /** Of each session the last of what must not happen at the same time: starting a command, and ending what is nobody's. */
  readonly #turns = new Map<SessionId, Promise<unknown>>();

  constructor(options: {
    readonly places: Places;
    readonly config: ProcessWatcherConfig;
    readonly users: Users;
    readonly isolation: Isolation;
    readonly instance: string;
    readonly logger: Logger;
    /** How long the supervisor may take for an answer; default: as `Supervisors` has it. */
    readonly answerMs?: number | undefined;
    /** Default: see GRACE_MS. */
    readonly graceMs?: number | undefined;
  }) {
    this.#places = options.places;
    this.#config = options.config;
    this.#users = options.users;
    this.#isolation = options.isolation;
    this.#logger = options.logger;
    this.#graceMs = options.graceMs ?? GRACE_MS;
    this.#supervisors = new Supervisors({
      own: options.places.supervisor(options.instance),
      work: options.places.workElsewhere,
      logger: options.logger,
      answerMs: options.answerMs,
      onEvent: (event, dir) => {
        if (event === 'matched') this.#matchListeners.get(dir)?.();
        else for (const wake of this.#endWaits.get(dir) ?? []) wake();
      },
    });
  }

  /** Commands whose end is waited for: what `max_processes` counts. */
  get running(): number {
    return this.#running.size;
  }

  get isFull(): boolean {
    return this.#running.size >= this.#config.max_processes;
  }

  workingDirectory(id: SessionId, cwd?: string): string {
    const work = this.#places.work(id, this.#users.of(id));
    return cwd === undefined ? work : resolve(work, cwd);
  }

  /** Was it begun, by us or by a predecessor? */
  wasBegun(id: SessionId, name: string): boolean {
    return existsSync(join(this.#places.command(id, name), BEGUN_FILE));
  }

  /** Starts it, once: a second time says how the first went. */
  start(line: CommandLine): Promise<StartReply> {
    return this.#inTurn(line.sessionId, () => this.#start(line));
  }

  async #start(line: CommandLine): Promise<StartReply> {
    const { sessionId: id, name } = line;
    const dir = this.directory(id, name);
    // From here on, so that those that are begun at the same time are counted, too.
    this.#running.add(dir);
    let reply: StartReply = { status: 'failed', reason: 'it was not begun' };
    try {
      const request = this.#prepared(line);
      reply =
        typeof request === 'string'
          ? { status: 'failed', reason: request }
          : await this.#supervisors.ask(request);
    } finally {
      if (reply.status === 'failed') this.#running.delete(dir);
    }
    if (reply.status === 'failed') this.#places.forget(id, name);
    return reply;
  }

  /** A text: why it cannot be started. */
  #prepared(line: CommandLine): StartRequest | string {
    const { sessionId: id, name } = line;
    let user: User | null = null;
    const separateErrors = line.separateErrors ?? false;
    const joinErrors = !separateErrors;
    let [work, cwd, dir] = ['', '', ''];
    let program: Enclosed;
    try {
      user = this.#users.of(id);
      work = this.workingDirectory(id);
      cwd = this.workingDirectory(id, line.cwd);
      dir = this.#places.prepare(id, name);
      const limited = underLimits(line.argv, this.#config, { cwd, joinErrors });
      program = this.#isolation.enclose(limited, { work, user, joinErrors });
    } catch (error) {
      // A full disk, or no user is left. The path behind it is nobody's business.
      return (error as Error).message.split(',')[0] ?? '';
    }
    if (!mayEnter(cwd, user)) return `there is no directory ${cwd} that this session may enter`;
    const mark = markOf(id, name);
    const own = { PWD: cwd, [MARK_VARIABLE]: mark };
    return {
      op: 'start',
      dir,
      ...program,
      env: { ...environmentOf(work, id, this.#config.environment, line.environment ?? {}), ...own },
      mark,
      session: id,
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

  /** Resolves when it has ended, or is lost. Throws when aborted; the command goes on then. */
  async untilEnded(id: SessionId, name: string, signal: AbortSignal): Promise<CommandEnd> {
    const dir = this.#places.command(id, name);
    this.#running.add(dir);
    try {
      for (;;) {
        signal.throwIfAborted();
        const woken = this.#woken(dir, signal);
        const end = await this.#look(dir);
        if (end?.kind === 'exited' && end.exit.limit === 'memory') {
          this.#logger.warn(
            { session_id: id, command: name },
            `a command was ended: ${limitReached('memory', this.#config)}`,
          );
        }
        if (end !== null) return end;
        await woken;
      }
    } finally {
      this.#running.delete(dir);
    }
  }

  /** Null: it has not ended. */
  exitOf(id: SessionId, name: string): ExitRecord | null {
    return readJson<ExitRecord>(join(this.#places.command(id, name), EXIT_FILE));
  }

  identityOf(id: SessionId, name: string): ProcessIdentity | null {
    return readJson<ProcessIdentity>(join(this.#places.command(id, name), STARTED_FILE));
  }

  onMatch(id: SessionId, name: string, listener: () => void): () => void {
    const dir = this.#places.command(id, name);
    this.#matchListeners.set(dir, listener);
    return () => this.#matchListeners.delete(dir);
  }

  /** Ends its whole group, and what left that. Returns who survived. */
  async stop(id: SessionId, name: string, graceMs = this.#graceMs): Promise<readonly number[]> {
    const dir = this.#places.command(id, name);
    const reply: StopReply | 'silent' | null = await this.#askIts(dir, { op: 'stop', dir, graceMs });
    const survivors =
      reply !== 'silent' && reply?.known
        ? reply.survivors
        : await this.#stopWithoutSupervisor(id, name, graceMs);
    await this.endStraysOf(id, name, 'end');
    return survivors;
  }

  /**
   * Ends what a command left that nobody knows of: a daemon that left its process group and emptied its environment, and
   * is found by its user alone. While other commands of the session go on, what is theirs is spared: all that they are
   * known by, and all that is older than this command. `leftovers`: what this command itself is known by goes on, too.
   * Returns how many; 0 where sessions have no users of their own, as nobody can tell there.
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

  /** Ends what runs for a session none of whose commands goes on. */
  endStrays(id: SessionId): Promise<number> {
    return this.#inTurn(id, async () => ((await this.#living(id)).length === 0 ? this.#users.end(id) : 0));
  }

  /** Ends all that runs for a session, removes its files, and gives its user back. */
  forgetSession(id: SessionId): Promise<void> {
    return this.#inTurn(id, async () => {
      await this.#users.end(id);
      this.#places.forgetSession(id);
    });
  }

  /** `silent`: the supervisor does not answer, and may still write it. */
  async write(
    id: SessionId,
    name: string,
    data: string,
    end: boolean,
  ): Promise<WriteReply['status'] | 'silent'> {
    const dir = this.#places.command(id, name);
    const reply: WriteReply | 'silent' | null = await this.#askIts(dir, { op: 'write', dir, data, end });
    return reply === 'silent' ? reply : (reply?.status ?? 'unknown');
  }

  directory(id: SessionId, name: string): string {
    return this.#places.command(id, name);
  }

  settled(id: SessionId, name: string): void {
    this.#places.settled(id, name);
  }

  forget(id: SessionId, name: string): void {
    this.#running.delete(this.directory(id, name));
    this.#places.forget(id, name);
  }

  /** Whatever runs goes on. */
  close(): void {
    this.#supervisors.close();
  }

  async #look(dir: string): Promise<CommandEnd | null> {
    const exit = readJson<ExitRecord>(join(dir, EXIT_FILE));
    if (exit !== null) return { kind: 'exited', exit };
    if (!existsSync(dir)) return { kind: 'lost', reason: 'its files are gone' };
    const reply = await this.#askIts(dir, { op: 'has', dir });
    // One that hangs may still write how it ended: not lost, and looked at again.
    if (reply === 'silent' || reply?.known) return null;
    // It may have written the exit between our two looks.
    const late = readJson<ExitRecord>(join(dir, EXIT_FILE));
    if (late !== null) return { kind: 'exited', exit: late };
    const identity = readJson<ProcessIdentity>(join(dir, STARTED_FILE));
    if (identity === null) return { kind: 'lost', reason: 'it was interrupted while it was being started' };
    // Without its supervisor its exit code is lost already; that it has ended is still worth knowing.
    if (isAlive(identity)) return null;
    return { kind: 'lost', reason: 'it is gone and so is its supervisor: how it ended is not known' };
  }

  async #askIts<R extends { readonly op: 'has' | 'stop' | 'write'; readonly dir: string }>(
    dir: string,
    request: R & Parameters<Supervisors['askThat']>[1],
  ) {
    const begun = readJson<BegunRecord>(join(dir, BEGUN_FILE));
    if (begun === null) return null;
    try {
      return await this.#supervisors.askThat(begun.supervisor, request);
    } catch (error) {
      if (error instanceof SupervisorSilent) return 'silent';
      throw error;
    }
  }

  /** The commands of a session that go on, or that something is left of. */
  async #living(id: SessionId): Promise<CommandTraces[]> {
    const living: CommandTraces[] = [];
    for (const name of this.#places.commandsOf(id)) {
      const dir = this.#places.command(id, name);
      const reply = await this.#askIts(dir, { op: 'has', dir });
      const identity = this.identityOf(id, name);
      // A supervisor that hangs may have it: it is spared.
      const goesOn = reply === 'silent' || reply?.known || (identity !== null && isAlive(identity));
      if (goesOn) living.push({ identity, mark: markOf(id, name) });
    }
    return living;
  }

  /** After what was asked for this session before, whatever became of that. */
  #inTurn<T>(id: SessionId, work: () => Promise<T>): Promise<T> {
    const turn = (this.#turns.get(id) ?? Promise.resolve()).then(work, work);
    this.#turns.set(id, turn);
    const over = (): void => {
      if (this.#turns.get(id) === turn) this.#turns.delete(id);
    };
    turn.then(over, over);
    return turn;
  }

  /** Only this very process, and its group as long as it leads it: a pid that was reused is never touched (E5). */
  async #stopWithoutSupervisor(id: SessionId, name: string, graceMs: number): Promise<readonly number[]> {
    const identity = this.identityOf(id, name);
    if (identity === null || !isAlive(identity)) return [];
    signalGroup(identity.pid, 'SIGTERM');
    for (const until = performance.now() + graceMs; performance.now() < until; ) {
      await new Promise((done) => setTimeout(done, 100));
      if (!isAlive(identity)) return [];
    }
    if (isAlive(identity)) signalGroup(identity.pid, 'SIGKILL');
    await new Promise((done) => setTimeout(done, 100));
    return isAlive(identity) ? membersOf(identity.pid) : [];
  }

  /** Resolves at the supervisor's word, after LOOK_MS, or when aborted. */
  #woken(dir: string, signal: AbortSignal): Promise<void> {
    return new Promise((done) => {
      const waits = this.#endWaits.get(dir) ?? new Set();
      this.#endWaits.set(dir, waits);
      const wake = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        waits.delete(wake);
        if (waits.size === 0) this.#endWaits.delete(dir);
        done();
      };
      const timer = setTimeout(wake, LOOK_MS);
      signal.addEventListener('abort', wake, { once: true });
      waits.add(wake);
    });
  }
}

function markOf(id: SessionId, name: string): string {
  return `${id}/${name}`;
}

/** Null: it is not there, or not whole (a power failure). */
function readJson<T>(path: string): T | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as T;
  } catch {
    return null;
  }
}
