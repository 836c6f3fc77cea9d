import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { LONGEST_TIMER_MS, pause, within } from '@angelia/waiting';
import { OutputFile } from './output-file.ts';
import { PatternWatch } from './pattern-watch.ts';
import {
  identityOf,
  isNamespaceInit,
  membersOf,
  processesWithMark,
  signalGroup,
  signalOne,
  statOf,
} from './process-identity.ts';
import {
  ERRORS,
  EXIT_FILE,
  type ExitRecord,
  MATCHES_FILE,
  OUTPUT,
  type ProcessIdentity,
  STARTED_FILE,
  type StartRequest,
  type WriteReply,
} from './protocol.ts';
import { writeFileWhole } from './write-file-whole.ts';

/** When a command ends, its last output is still in the pipe. Read until nothing comes for this long, ... */
const QUIET_MS = 60;
/** ... but not longer than this: what the command left running may print for ever. */
const LAST_OUTPUT_MS = 1_000;
/** How often the watch searches an unfinished line. */
const SETTLE_MS = 500;
/** Between two checks whether a signalled group is gone. */
const CHECK_MS = 50;
/** Between two checks whether what a command left running is gone. */
const LEFTOVERS_CHECK_MS = 3_000;
/** What survives SIGKILL for this long is stuck in the kernel. */
const KILL_WAIT_MS = 2_000;
/** How much `write` may keep in memory while the command does not read its input. */
const STDIN_CAP_BYTES = 1_048_576;

interface CommandEvents {
  ended(): void;
  matched(): void;
  /** Nothing is left to read or to wait for. */
  over(): void;
}

type Limit = Exclude<ExitRecord['limit'], null>;

/**
 * One command, in a session and process group of its own. Writes its output and its end to disk.
 *
 *   running --exits--> last output --written--> ended (exit.json) --its pipe closes, no process is left--> over
 *   running --lifetime, idle, stop--> SIGTERM --grace--> SIGKILL --> as above
 *   running --the session uses too much memory (session-memory.ts)--> SIGKILL --> as above
 *
 * The command has ended when the process that we started has. What that left running, in its group or as a daemon, keeps
 * running: its output is still kept and its lifetime still limited. With `endLeftovers` it is ended too.
 */
export class SupervisedCommand {
  readonly #request: StartRequest;
  readonly #events: CommandEvents;
  readonly #output: OutputFile;
  readonly #errors: OutputFile;
  readonly #watch: PatternWatch;
  readonly #startedAt = Date.now();
  #child: ChildProcess | null = null;
  #identity: ProcessIdentity | null = null;
  #limit: Limit | null = null;
  #exit: { readonly code: number | null; readonly signal: string | null; readonly at: number } | null = null;
  /** Its last output was read. */
  #outputOver = false;
  #recorded = false;
  #groupGone = false;
  #closed = false;
  #onClosed: () => void = () => {};
  readonly #untilClosed = new Promise<void>((resolve) => {
    this.#onClosed = resolve;
  });
  #lastOutputAt = performance.now();
  readonly #timers = new Set<NodeJS.Timeout>();
  #settleTimer: NodeJS.Timeout | null = null;
  #stopping: Promise<number[]> | null = null;

  constructor(request: StartRequest, events: CommandEvents) {
    this.#request = request;
    this.#events = events;
    this.#output = new OutputFile(request.dir, OUTPUT, request.keepBytes);
    this.#errors = new OutputFile(request.dir, ERRORS, request.keepBytes);
    this.#watch = new PatternWatch(request.watchPatterns);
  }

  get identity(): ProcessIdentity | null {
    return this.#identity;
  }

  get mark(): string {
    return this.#request.mark;
  }

  get session(): string {
    return this.#request.session;
  }

  get sessionMemoryBytes(): number {
    return this.#request.sessionMemoryBytes;
  }

  /** The user that it runs as; undefined on a system without users. */
  get user(): number | undefined {
    return this.#request.user?.uid ?? process.getuid?.();
  }

  /** The same, if only its session has that user; otherwise null. */
  get ownUser(): number | null {
    const { user, userIsOwn } = this.#request;
    return userIsOwn ? (user?.uid ?? null) : null;
  }

  /** Resolves when the command runs; rejects if it cannot be started. */
  async start(): Promise<ProcessIdentity> {
    const { file, args, env, user, becomesUser, stdin, separateErrors } = this.#request;
    const child = spawn(file, [...args], {
      cwd: '/', // the command itself changes to its directory, as its own user
      env,
      detached: true,
      stdio: [stdin === 'none' ? 'ignore' : 'pipe', 'pipe', separateErrors ? 'pipe' : 'ignore'],
      ...(user === null || becomesUser ? {} : { uid: user.uid, gid: user.gid }),
    });
    if (child.pid === undefined) {
      throw await new Promise<Error>((resolve) => child.once('error', resolve));
    }
    // A child is not reaped before the next turn of the event loop, so even one that has ended has its start time here.
    const identity = identityOf(child.pid);
    this.#child = child;
    this.#identity = identity;
    child.on('error', () => {});
    this.#listen(child);
    if (typeof stdin === 'object') child.stdin?.end(stdin.text);
    this.#startLimits();
    await writeFileWhole(join(this.#request.dir, STARTED_FILE), JSON.stringify(identity), { durable: false });
    return identity;
  }

  /** Ends the whole group; without a grace, by SIGKILL at once. Resolves with the survivors. */
  stop(limit: Limit, graceMs: number): Promise<number[]> {
    this.#limit ??= this.#exit === null ? limit : null;
    this.#stopping ??= this.#stop(graceMs).finally(() => {
      this.#stopping = null;
    });
    return this.#stopping;
  }

  write(data: string, end: boolean): WriteReply['status'] {
    const stdin = this.#child?.stdin;
    if (!stdin || stdin.destroyed || stdin.writableEnded || this.#exit !== null) return 'closed';
    if (stdin.writableLength + Buffer.byteLength(data) > STDIN_CAP_BYTES) return 'full';
    if (end) stdin.end(data);
    else stdin.write(data);
    return 'written';
  }

  async #stop(graceMs: number): Promise<number[]> {
    if (graceMs > 0) {
      this.#signal('SIGTERM');
      if (await this.#gone(graceMs)) return [];
    }
    this.#signal('SIGKILL');
    return (await this.#gone(KILL_WAIT_MS)) ? [] : this.#alive();
  }

  #signal(signal: NodeJS.Signals): void {
    const group = this.#identity?.pid;
    if (group !== undefined && this.#groupIsOurs(group)) signalGroup(group, signal);
    // Processes in the group have had the signal already.
    for (const pid of this.#marked()) if (statOf(pid)?.group !== group) signalOne(pid, signal);
  }

  /** The members of its group, or if the group is empty, the processes that left it. */
  #alive(): number[] {
    const group = this.#identity?.pid;
    const members = group !== undefined && this.#groupIsOurs(group) ? membersOf(group) : [];
    return members.length > 0 ? members : this.#marked();
  }

  #marked(): number[] {
    return processesWithMark(this.#request.mark, this.user);
  }

  /**
   * The kernel reuses a group's number only when the group is empty. Once it was empty, it is never signalled again (E5).
   */
  #groupIsOurs(group: number): boolean {
    if (this.#exit === null) return true;
    // Its leader was reaped: a process that has this number now is another one.
    this.#groupGone ||= statOf(group) !== null || membersOf(group).length === 0;
    return !this.#groupGone;
  }

  async #gone(withinMs: number): Promise<boolean> {
    for (const until = performance.now() + withinMs; ; ) {
      if (this.#alive().length === 0) return true;
      if (performance.now() >= until) return false;
      await pause(CHECK_MS);
    }
  }

  #listen(child: ChildProcess): void {
    // A command need not read its input: its exit code says whether that was an error.
    child.stdin?.on('error', () => {});
    child.stdout?.on('error', () => {});
    child.stderr?.on('error', () => {});
    child.stdout?.on('data', (chunk: Buffer) => {
      this.#lastOutputAt = performance.now();
      this.#output.write(chunk);
      this.#searchOutput(chunk);
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#lastOutputAt = performance.now();
      this.#errors.write(chunk);
    });
    child.once('exit', (code, signal) => {
      this.#exit = { code, signal, at: Date.now() };
      void this.#ended(code, signal);
    });
    child.once('close', () => {
      this.#closed = true;
      this.#onClosed();
      this.#overIfSo();
    });
  }

  #searchOutput(chunk: Buffer): void {
    // Output from before the end may arrive after the exit. Once the end is being recorded, nothing is searched.
    if (this.#watch.off || this.#outputOver) return;
    this.#report(this.#watch.take(chunk));
    if (this.#settleTimer === null) {
      this.#settleTimer = setTimeout(() => {
        this.#settleTimer = null;
        if (!this.#outputOver) this.#report(this.#watch.settle());
      }, SETTLE_MS);
    }
  }

  #report(matches: ReturnType<PatternWatch['take']>): void {
    if (matches.length === 0) return;
    try {
      const lines = matches.map((match) => `${JSON.stringify(match)}\n`).join('');
      appendFileSync(join(this.#request.dir, MATCHES_FILE), lines, { mode: 0o600 });
    } catch {
      return; // The disk is full: the match is lost with its output.
    }
    this.#events.matched();
  }

  async #ended(code: number | null, signal: string | null): Promise<void> {
    const left = this.#leftRunning();
    await this.#readLastOutput();
    this.#report(this.#watch.settle());
    this.#outputOver = true;
    const ended = this.#exit?.at ?? Date.now();
    const record: ExitRecord = {
      exit_code: code,
      signal,
      started_at: new Date(this.#startedAt).toISOString(),
      ended_at: new Date(ended).toISOString(),
      duration_seconds: Math.max(0, ended - this.#startedAt) / 1000,
      limit: this.#limit,
      left_running: left,
      output_bytes: this.#output.bytes,
    };
    await this.#record(record);
    this.#recorded = true;
    this.#events.ended();
    this.#overIfSo();
  }

  /** Returns how many processes it left running; with `endLeftovers`, ends them. */
  #leftRunning(): number {
    try {
      const alive = this.#alive();
      const left = alive.filter((pid) => !isNamespaceInit(pid)).length;
      if (this.#request.endLeftovers && alive.length > 0) this.#signal('SIGKILL');
      return left;
    } catch {
      return 0; // No file descriptor is left to read /proc with. That must not cost the exit code.
    }
  }

  /** Retries for ever: a full disk may have space again, and an exit code must not be lost. */
  async #record(record: ExitRecord): Promise<void> {
    for (let wait = 100; ; wait = Math.min(wait * 2, 5_000)) {
      try {
        await writeFileWhole(join(this.#request.dir, EXIT_FILE), JSON.stringify(record), { durable: true });
        return;
      } catch (error) {
        // The directory was removed: nobody can ask any more.
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
        await pause(wait);
      }
    }
  }

  async #readLastOutput(): Promise<void> {
    const until = performance.now() + LAST_OUTPUT_MS;
    for (let seen = -1; !this.#closed && performance.now() < until; ) {
      const bytes = this.#output.bytes + this.#errors.bytes;
      if (bytes === seen) return;
      seen = bytes;
      await within(QUIET_MS, this.#untilClosed);
    }
  }

  #startLimits(): void {
    const { lifetimeMs, idleMs, graceMs } = this.#request;
    this.#after(Math.min(lifetimeMs, LONGEST_TIMER_MS), () => this.#stopAt('lifetime', graceMs));
    if (idleMs === null) return;
    const stopIfIdle = (): void => {
      const idle = performance.now() - this.#lastOutputAt;
      if (idle >= idleMs) this.#stopAt('idle', graceMs);
      else this.#after(idleMs - idle, stopIfIdle);
    };
    this.#after(idleMs, stopIfIdle);
  }

  /** If this fails (no file descriptor is left to read /proc with), it tries again: a limit must hold. */
  #stopAt(limit: Limit, graceMs: number): void {
    this.stop(limit, graceMs).catch(() =>
      this.#after(LEFTOVERS_CHECK_MS, () => this.#stopAt(limit, graceMs)),
    );
  }

  #after(ms: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      work();
    }, ms);
    this.#timers.add(timer);
  }

  #mayBeAlive(): boolean {
    try {
      return this.#alive().length > 0;
    } catch {
      return true; // No file descriptor is left to read /proc with. The next check tries again.
    }
  }

  #overIfSo(): void {
    if (!this.#recorded || !this.#closed) return;
    // A server that it started and that prints nothing still belongs to it, and can be killed and limited.
    if (this.#mayBeAlive()) {
      this.#after(LEFTOVERS_CHECK_MS, () => this.#overIfSo());
      return;
    }
    for (const timer of this.#timers) clearTimeout(timer);
    if (this.#settleTimer !== null) clearTimeout(this.#settleTimer);
    this.#output.close();
    this.#errors.close();
    this.#events.over();
  }
}
