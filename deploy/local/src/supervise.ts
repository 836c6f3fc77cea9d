import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { ChildBook } from './child-book.ts';
import type { Layout } from './layout.ts';

/** A program of the stack: how to start it, how to end it. */
export interface Program {
  /** Names its pid file and its log. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly uid?: number;
  readonly gid?: number;
  /** What must be so before each start, also before a restart. */
  readonly prepare?: () => Promise<void>;
  /** Signals that end it, the gentle one first, each with the time it has. */
  readonly ending: readonly { readonly signal: NodeJS.Signals; readonly patienceMs: number }[];
}

export interface Ended {
  readonly name: string;
  readonly pid: number | null;
  /** In words: `exit code 1`, `SIGKILL`, `spawn ENOENT`. */
  readonly how: string;
  readonly exitCode: number | null;
  /** Milliseconds until the next start; null when there is none. */
  readonly restartInMs: number | null;
}

/** EX_CONFIG: the service said in one line what the user must mend, and a restart would only say it again. */
export const EXIT_CONFIG = 78;

const FIRST_BACKOFF_MS = 200;
const LONGEST_BACKOFF_MS = 10_000;
/** A program that ran this long was well; its next fall is a new story and starts at the first back-off. */
const RAN_WELL_MS = 10_000;

/**
 * One program and its restarts:
 *
 *   idle --start--> running --exit--> waiting --back-off--> running ...
 *   running or waiting --stop--> idle        running --exit with 78--> idle
 */
export class Supervised {
  readonly program: Program;
  readonly #layout: Layout;
  readonly #book: ChildBook;
  readonly #restart: boolean;
  readonly #onEnded: (ended: Ended) => void;
  #child: ChildProcess | null = null;
  #exited: Promise<void> = Promise.resolve();
  #wanted = false;
  #cancelWait = new AbortController();
  #backoffMs = FIRST_BACKOFF_MS;

  constructor(
    program: Program,
    options: {
      layout: Layout;
      book: ChildBook;
      /** False: it stays down when it ends. */
      restart?: boolean;
      onEnded?: (ended: Ended) => void;
    },
  ) {
    this.program = program;
    this.#layout = options.layout;
    this.#book = options.book;
    this.#restart = options.restart ?? true;
    this.#onEnded = options.onEnded ?? (() => {});
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  get running(): boolean {
    return this.#child !== null;
  }

  async start(): Promise<void> {
    if (this.#wanted) return;
    this.#wanted = true;
    this.#cancelWait = new AbortController();
    this.#backoffMs = FIRST_BACKOFF_MS;
    await this.#run();
  }

  /** Ends the program and does not start it again (until start). */
  async stop(options: { hurry?: boolean; signal?: AbortSignal } = {}): Promise<void> {
    this.#wanted = false;
    this.#cancelWait.abort();
    const ending = options.hurry ? this.program.ending.slice(-1) : this.program.ending;
    for (const [step, { signal, patienceMs }] of ending.entries()) {
      if (this.#child === null) break;
      this.#child.kill(signal);
      const last = step === ending.length - 1;
      // The last signal is not one that a program can survive; wait for the kernel, however long that takes.
      await (last ? this.#exited : this.#exitedWithin(patienceMs, options.signal));
    }
    this.#book.strike(this.program.name);
  }

  async #run(): Promise<void> {
    const { program } = this;
    await program.prepare?.();
    if (!this.#wanted) return;
    // Straight into its log file, not through the launcher: it must be able to write when the launcher was killed.
    const log = openSync(join(this.#layout.logs, `${program.name}.log`), 'a');
    const startedAt = performance.now();
    const child = spawn(program.command, program.args, {
      cwd: program.cwd,
      env: program.env,
      uid: program.uid,
      gid: program.gid,
      stdio: ['ignore', log, log],
      // A session and group of its own, so that Ctrl-C reaches the launcher alone.
      detached: true,
    });
    closeSync(log);
    this.#child = child;
    this.#exited = new Promise((resolve) => {
      const ended = (how: string, exitCode: number | null) => {
        if (this.#child !== child) return;
        this.#child = null;
        this.#afterExit(child.pid ?? null, how, exitCode, performance.now() - startedAt);
        resolve();
      };
      child.once('error', (error) => ended(error.message, null));
      child.once('exit', (code, signal) => ended(signal ?? `exit code ${code}`, code));
    });
    if (child.pid !== undefined) this.#book.enter(program.name, child.pid);
  }

  #afterExit(pid: number | null, how: string, exitCode: number | null, ranMs: number): void {
    const again = this.#wanted && this.#restart && exitCode !== EXIT_CONFIG;
    if (ranMs >= RAN_WELL_MS) this.#backoffMs = FIRST_BACKOFF_MS;
    const restartInMs = again ? this.#backoffMs : null;
    this.#onEnded({ name: this.program.name, pid, how, exitCode, restartInMs });
    if (restartInMs === null) {
      this.#wanted = false;
      this.#book.strike(this.program.name);
      return;
    }
    this.#backoffMs = Math.min(this.#backoffMs * 2, LONGEST_BACKOFF_MS);
    void this.#runAfter(restartInMs);
  }

  async #runAfter(delayMs: number): Promise<void> {
    const { signal } = this.#cancelWait;
    try {
      await pause(delayMs, undefined, { signal });
      await this.#run();
    } catch (error) {
      if (signal.aborted) return;
      const how = error instanceof Error ? error.message : String(error);
      this.#afterExit(null, how, null, 0);
    }
  }

  async #exitedWithin(patienceMs: number, hurry: AbortSignal | undefined): Promise<void> {
    const cancel = new AbortController();
    const signal = hurry ? AbortSignal.any([cancel.signal, hurry]) : cancel.signal;
    await Promise.race([this.#exited, pause(patienceMs, undefined, { signal }).catch(() => {})]);
    cancel.abort();
  }
}
