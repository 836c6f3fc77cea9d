import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Layout } from '../data-directory/layout.ts';
import type { RunningPrograms } from './running-programs.ts';

/** A program of the stack: how to start it and how to stop it. */
export interface Program {
  /** The name of its pid file and its log. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly uid?: number;
  readonly gid?: number;
  /** Called before each start and restart. */
  readonly prepare?: () => Promise<void>;
  /** The signals that stop it, the gentle one first, each with the time to wait for it. */
  readonly stopSignals: readonly { readonly signal: NodeJS.Signals; readonly waitMs: number }[];
}

export interface Ended {
  readonly name: string;
  readonly pid: number | null;
  /** For people: `exit code 1`, `SIGKILL`, `spawn ENOENT`. */
  readonly how: string;
  readonly exitCode: number | null;
  /** Milliseconds until the next start; null if there is none. */
  readonly restartInMs: number | null;
}

/** EX_CONFIG: the service reported in one line what the user must fix. Until then a restart only repeats it. */
export const EXIT_CONFIG = 78;

const FIRST_BACKOFF_MS = 200;
const LONGEST_BACKOFF_MS = 10_000;
/** A program that ran this long was healthy, so its next restart uses the first back-off again. */
const HEALTHY_MS = 10_000;

/**
 * One program and its restarts:
 *
 *   idle --start--> running --exit--> waiting --back-off--> running ...
 *   running or waiting --stop--> idle
 *   running --exit with 78--> idle, or waiting for the longest back-off (`retryRefused`)
 */
export class SupervisedProgram {
  readonly program: Program;
  readonly #layout: Layout;
  readonly #running: RunningPrograms;
  readonly #restart: boolean;
  readonly #retryRefused: () => boolean;
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
      running: RunningPrograms;
      /** False: the program stays down when it ends. */
      restart?: boolean;
      /** Asked after an exit with 78: try again now and then, because the user may fix it meanwhile? Default: no. */
      retryRefused?: () => boolean;
      onEnded?: (ended: Ended) => void;
    },
  ) {
    this.program = program;
    this.#layout = options.layout;
    this.#running = options.running;
    this.#restart = options.restart ?? true;
    this.#retryRefused = options.retryRefused ?? (() => false);
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

  /** Stops the program. It stays down until `start`. */
  async stop(options: { hurry?: boolean; signal?: AbortSignal } = {}): Promise<void> {
    this.#wanted = false;
    this.#cancelWait.abort();
    const signals = options.hurry ? this.program.stopSignals.slice(-1) : this.program.stopSignals;
    for (const [step, { signal, waitMs }] of signals.entries()) {
      if (this.#child === null) break;
      this.#child.kill(signal);
      const last = step === signals.length - 1;
      // No program survives the last signal, so wait for the kernel however long it takes.
      await (last ? this.#exited : this.#exitedWithin(waitMs, options.signal));
    }
    this.#running.remove(this.program.name);
  }

  async #run(): Promise<void> {
    const { program } = this;
    await program.prepare?.();
    if (!this.#wanted) return;
    // The program writes directly to its log file, so that it can still write if the launcher is killed.
    const log = openSync(join(this.#layout.logs, `${program.name}.log`), 'a');
    const startedAt = performance.now();
    const child = spawn(program.command, program.args, {
      cwd: program.cwd,
      env: program.env,
      uid: program.uid,
      gid: program.gid,
      stdio: ['ignore', log, log],
      // In its own session and group, so that Ctrl-C reaches only the launcher.
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
    if (child.pid !== undefined) this.#running.add(program.name, child.pid);
  }

  #afterExit(pid: number | null, how: string, exitCode: number | null, ranMs: number): void {
    const refused = exitCode === EXIT_CONFIG;
    const again = this.#wanted && this.#restart && (!refused || this.#retryRefused());
    if (refused) this.#backoffMs = LONGEST_BACKOFF_MS;
    else if (ranMs >= HEALTHY_MS) this.#backoffMs = FIRST_BACKOFF_MS;
    const restartInMs = again ? this.#backoffMs : null;
    this.#onEnded({ name: this.program.name, pid, how, exitCode, restartInMs });
    if (restartInMs === null) {
      this.#wanted = false;
      this.#running.remove(this.program.name);
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

  async #exitedWithin(waitMs: number, hurry: AbortSignal | undefined): Promise<void> {
    const cancel = new AbortController();
    const signal = hurry ? AbortSignal.any([cancel.signal, hurry]) : cancel.signal;
    await Promise.race([this.#exited, pause(waitMs, undefined, { signal }).catch(() => {})]);
    cancel.abort();
  }
}
