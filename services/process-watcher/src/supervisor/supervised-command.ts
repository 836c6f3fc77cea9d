import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { OutputFile } from './output-file.ts';
import { PatternWatch } from './pattern-watch.ts';
import {
  bearersOf,
  identityOf,
  isNamespaceInit,
  membersOf,
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
import { writeWhole } from './write-file-whole.ts';

/** After the end of the command its last words are still in the pipe: read until it is quiet for so long, ... */
const QUIET_MS = 60;
/** ... but what it left running may go on printing for ever. */
const LAST_WORDS_MS = 1_000;
/** A line without an end is looked at by the watch when nothing came for so long. */
const SETTLE_MS = 500;
/** Between two looks whether a group that was signalled is gone. */
const LOOK_MS = 50;
/** Between two looks whether what a command left running is gone. */
const LEFT_LOOK_MS = 3_000;
/** SIGKILL needs no consent; what is still there after this is stuck in the kernel. */
const KILL_PATIENCE_MS = 2_000;
/** Of what `write` may leave in memory when the command does not read its input. */
const STDIN_CAP_BYTES = 1_048_576;

export interface CommandEvents {
  ended(): void;
  matched(): void;
  /** Nothing of it is left to read or to wait for. */
  over(): void;
}

type Limit = Exclude<ExitRecord['limit'], null>;

/**
 * One command: started in a session and process group of its own, its output on disk, its end on disk.
 *
 *   running --exits--> last words --written--> ended (exit.json) --its pipe closes, nobody is left--> over
 *   running --lifetime, idle, stop--> SIGTERM --grace--> SIGKILL --> as above
 *   running --the session has too much memory (session-memory.ts)--> SIGKILL --> as above
 *
 * It has ended when the process that we started has: what that left running, in its group or as a daemon, goes on, its
 * output is still kept, and its lifetime is still limited (`endLeftovers`: it is ended).
 */
export class Command {
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
  /** Its last words were heard. */
  #ending = false;
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

  /** The user that it runs as; undefined: not Linux. */
  get user(): number | undefined {
    return this.#request.user?.uid ?? process.getuid?.();
  }

  /** The same, where only its session has that user. */
  get ownUser(): number | null {
    const { user, userIsOwn } = this.#request;
    return userIsOwn ? (user?.uid ?? null) : null;
  }

  /** Resolves when it runs; rejects when it cannot be started. */
  async start(): Promise<ProcessIdentity> {
    const { file, args, env, user, becomesUser, stdin, separateErrors } = this.#request;
    const child = spawn(file, [...args], {
      cwd: '/', // it goes on from there by itself, as its own user
      env,
      detached: true,
      stdio: [stdin === 'none' ? 'ignore' : 'pipe', 'pipe', separateErrors ? 'pipe' : 'ignore'],
      ...(user === null || becomesUser ? {} : { uid: user.uid, gid: user.gid }),
    });
    if (child.pid === undefined) {
      throw await new Promise<Error>((resolve) => child.once('error', resolve));
    }
    // Not reaped before the next turn of the event loop: also of one that has ended by now the start time is there.
    const identity = identityOf(child.pid);
    this.#child = child;
    this.#identity = identity;
    child.on('error', () => {});
    this.#listen(child);
    if (typeof stdin === 'object') child.stdin?.end(stdin.text);
    this.#limitIt();
    await writeWhole(join(this.#request.dir, STARTED_FILE), JSON.stringify(identity), { durable: false });
    return identity;
  }

  /** Ends the whole group, without a grace by SIGKILL at once. Resolves with who is still there. */
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
    return (await this.#gone(KILL_PATIENCE_MS)) ? [] : this.#alive();
  }

  #signal(signal: NodeJS.Signals): void {
    const group = this.#identity?.pid;
    if (group !== undefined && this.#groupIsOurs(group)) signalGroup(group, signal);
    // Those of the group have had it: twice is once for them.
    for (const pid of this.#bearers()) if (statOf(pid)?.group !== group) signalOne(pid, signal);
  }

  /** Its group, or when nobody of that is left, who went away from it. */
  #alive(): number[] {
    const group = this.#identity?.pid;
    const members = group !== undefined && this.#groupIsOurs(group) ? membersOf(group) : [];
    return members.length > 0 ? members : this.#bearers();
  }

  #bearers(): number[] {
    return bearersOf(this.#request.mark, this.user);
  }

  /**
   * Its number is given to somebody else only when nobody of the group is left: once that was so, it is never signalled
   * again (E5).
   */
  #groupIsOurs(group: number): boolean {
    if (this.#exit === null) return true;
    // Its leader was reaped: who has that number now is another.
    this.#groupGone ||= statOf(group) !== null || membersOf(group).length === 0;
    return !this.#groupGone;
  }

  async #gone(withinMs: number): Promise<boolean> {
    for (const until = performance.now() + withinMs; ; ) {
      if (this.#alive().length === 0) return true;
      if (performance.now() >= until) return false;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  #listen(child: ChildProcess): void {
    // It need not read its input: its exit code says what that means.
    child.stdin?.on('error', () => {});
    child.stdout?.on('error', () => {});
    child.stderr?.on('error', () => {});
    child.stdout?.on('data', (chunk: Buffer) => {
      this.#lastOutputAt = performance.now();
      this.#output.write(chunk);
      this.#look(chunk);
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

  #look(chunk: Buffer): void {
    // What it printed before its end may come behind it; after that is recorded nothing is looked at.
    if (this.#watch.off || this.#ending) return;
    this.#report(this.#watch.take(chunk));
    if (this.#settleTimer === null) {
      this.#settleTimer = setTimeout(() => {
        this.#settleTimer = null;
        if (!this.#ending) this.#report(this.#watch.settle());
      }, SETTLE_MS);
    }
  }

  #report(matches: ReturnType<PatternWatch['take']>): void {
    if (matches.length === 0) return;
    try {
      const lines = matches.map((match) => `${JSON.stringify(match)}\n`).join('');
      appendFileSync(join(this.#request.dir, MATCHES_FILE), lines, { mode: 0o600 });
    } catch {
      return; // A full disk: the match is lost with the output that it was in.
    }
    this.#events.matched();
  }

  async #ended(code: number | null, signal: string | null): Promise<void> {
    const left = this.#leftRunning();
    await this.#lastWords();
    this.#report(this.#watch.settle());
    this.#ending = true;
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

  /** How many it left running; ends them where nobody would know of them. */
  #leftRunning(): number {
    try {
      const alive = this.#alive();
      const left = alive.filter((pid) => !isNamespaceInit(pid)).length;
      if (this.#request.endLeftovers && alive.length > 0) this.#signal('SIGKILL');
      return left;
    } catch {
      return 0; // No descriptor is left to read /proc with. That must not cost the exit code.
    }
  }

  /** A full disk may have room again: an exit code is never given up. */
  async #record(record: ExitRecord): Promise<void> {
    for (let wait = 100; ; wait = Math.min(wait * 2, 5_000)) {
      try {
        await writeWhole(join(this.#request.dir, EXIT_FILE), JSON.stringify(record), { durable: true });
        return;
      } catch (error) {
        // Its directory was taken away: nobody can ask any more.
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
  }

  async #lastWords(): Promise<void> {
    const until = performance.now() + LAST_WORDS_MS;
    for (let seen = -1; !this.#closed && performance.now() < until; ) {
      const bytes = this.#output.bytes + this.#errors.bytes;
      if (bytes === seen) return;
      seen = bytes;
      await Promise.race([this.#untilClosed, new Promise((resolve) => setTimeout(resolve, QUIET_MS))]);
    }
  }

  #limitIt(): void {
    const { lifetimeMs, idleMs, graceMs } = this.#request;
    this.#after(Math.min(lifetimeMs, LONGEST_TIMER_MS), () => this.#stopAt('lifetime', graceMs));
    if (idleMs === null) return;
    const look = (): void => {
      const idle = performance.now() - this.#lastOutputAt;
      if (idle >= idleMs) this.#stopAt('idle', graceMs);
      else this.#after(idleMs - idle, look);
    };
    this.#after(idleMs, look);
  }

  /** Where it fails (no descriptor is left to read /proc with), again in a moment: a limit is kept. */
  #stopAt(limit: Limit, graceMs: number): void {
    this.stop(limit, graceMs).catch(() => this.#after(LEFT_LOOK_MS, () => this.#stopAt(limit, graceMs)));
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
      return true; // As above: looked at again.
    }
  }

  #overIfSo(): void {
    if (!this.#recorded || !this.#closed) return;
    // A server that it started and that prints nowhere: still its own, to be killed and limited.
    if (this.#mayBeAlive()) {
      this.#after(LEFT_LOOK_MS, () => this.#overIfSo());
      return;
    }
    for (const timer of this.#timers) clearTimeout(timer);
    if (this.#settleTimer !== null) clearTimeout(this.#settleTimer);
    this.#output.close();
    this.#errors.close();
    this.#events.over();
  }
}

/** Node fires a longer timer at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
