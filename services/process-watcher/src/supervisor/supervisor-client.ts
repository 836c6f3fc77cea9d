import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Logger } from '@angelia/service-kit';
import { readLines } from './lines.ts';
import { type Message, type Replies, type Request, SOCKET_NAME, type StartRequest } from './protocol.ts';

/** Thrown for a request that had no answer: whether it was carried out is for the files to say. */
export class SupervisorGone extends Error {
  override readonly name = 'SupervisorGone';
  readonly code = 'supervisor_gone';
  readonly retryable = true;
}

/**
 * Thrown for a request that had no answer in time: the supervisor is there and hangs (stopped, a disk that does not
 * answer). It may still do what it was asked for: whoever asks again is answered once it goes on.
 */
export class SupervisorSilent extends Error {
  override readonly name = 'SupervisorSilent';
  readonly code = 'supervisor_silent';
  readonly retryable = true;
}

/**
 * An answer takes a millisecond, with a file to sync on a busy disk some hundred. Too long costs a late warning, too short
 * one that is wrong and a request that is made twice.
 */
const ANSWER_MS = 15_000;

/** A Node process on a busy machine; when it is not there by then it will not be. */
const START_PATIENCE_MS = 15_000;
const TRY_AGAIN_MS = 25;

/** Its source, beside ours in tests; its bundle otherwise (deploy/local/build.mjs). */
const PROGRAM = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './main.ts' : '../../../supervisor.js', import.meta.url),
);

/** The supervisors that this watcher talks to: its own, and those that others left commands with. */
export class Supervisors {
  readonly #own: string;
  readonly #work: string | undefined;
  readonly #logger: Logger;
  readonly #onEvent: (event: 'ended' | 'matched', dir: string) => void;
  readonly #answerMs: number;
  readonly #lines = new Map<string, Promise<Line>>();
  #closed = false;

  /** `own`: the directory of the one that new commands are started under. */
  constructor(options: {
    readonly own: string;
    /** Where the sessions' files are, when not beside it. */
    readonly work: string | undefined;
    readonly logger: Logger;
    readonly onEvent: (event: 'ended' | 'matched', dir: string) => void;
    /** Default: see ANSWER_MS. */
    readonly answerMs?: number | undefined;
  }) {
    this.#answerMs = options.answerMs ?? ANSWER_MS;
    this.#own = options.own;
    this.#work = options.work;
    this.#logger = options.logger;
    this.#onEvent = options.onEvent;
  }

  /** Starts this watcher's own supervisor when there is none. @throws SupervisorGone, SupervisorSilent */
  async ask<R extends Request>(request: R): Promise<Replies[R['op']]> {
    return (await this.#line(this.#own, true)).ask(request);
  }

  /**
   * Of the supervisors of that directory the one that has the command: after an upgrade the earlier one goes on beside
   * ours. Null: ours is not there (any more), and no other has it. @throws SupervisorSilent
   */
  async askThat<R extends Exclude<Request, StartRequest>>(
    directory: string,
    request: R,
  ): Promise<Replies[R['op']] | null> {
    const ours = await this.#askAt(directory, SOCKET_NAME, request);
    if (ours !== null && isKnown(ours)) return ours;
    for (const name of otherSockets(directory)) {
      const reply = await this.#askAt(directory, name, request);
      if (reply !== null && isKnown(reply)) return reply;
    }
    return ours;
  }

  async #askAt<R extends Request>(
    directory: string,
    name: string,
    request: R,
  ): Promise<Replies[R['op']] | null> {
    try {
      return await (await this.#line(directory, false, name)).ask(request);
    } catch (error) {
      if (error instanceof SupervisorGone) return null;
      throw error;
    }
  }

  /** They go on without us. */
  close(): void {
    this.#closed = true;
    for (const line of this.#lines.values()) {
      line.then(
        (open) => open.close(),
        () => {},
      );
    }
  }

  #line(directory: string, start: boolean, name = SOCKET_NAME): Promise<Line> {
    if (this.#closed) return Promise.reject(new SupervisorGone('this watcher goes down'));
    const path = join(directory, name);
    const known = this.#lines.get(path);
    if (known !== undefined) return known;
    const line = this.#open(directory, name, start);
    this.#lines.set(path, line);
    line.catch(() => this.#drop(path, line));
    return line;
  }

  async #open(directory: string, name: string, start: boolean): Promise<Line> {
    const path = join(directory, name);
    let socket = await reach(directory, name);
    if (socket === null) {
      if (!start) throw new SupervisorGone('this supervisor is gone');
      launch(directory, this.#work);
      for (const until = performance.now() + START_PATIENCE_MS; socket === null; ) {
        if (performance.now() > until) throw new SupervisorGone('the supervisor of commands does not start');
        await new Promise((resolve) => setTimeout(resolve, TRY_AGAIN_MS));
        socket = await reach(directory, name);
      }
      this.#logger.info({}, 'started a supervisor of commands');
    }
    const open = new Line(socket, {
      onEvent: this.#onEvent,
      answerMs: this.#answerMs,
      onSilent: (op) => this.#logger.warn({ op }, 'the supervisor of commands does not answer'),
    });
    const line = this.#lines.get(path);
    socket.once('close', () => line && this.#drop(path, line));
    return open;
  }

  #drop(path: string, line: Promise<Line>): void {
    if (this.#lines.get(path) === line) this.#lines.delete(path);
  }
}

function isKnown(reply: Replies['has' | 'stop' | 'write']): boolean {
  return 'known' in reply ? reply.known : reply.status !== 'unknown';
}

/** Of the supervisors of other versions. */
function otherSockets(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => SOCKET.test(name) && name !== SOCKET_NAME);
  } catch {
    return []; // It is gone.
  }
}

const SOCKET = /^supervisor-\d+\.sock$/;

interface LineOptions {
  readonly onEvent: (event: 'ended' | 'matched', dir: string) => void;
  readonly answerMs: number;
  /** The first request that is not answered in time, since the last one that was. */
  readonly onSilent: (op: Request['op']) => void;
}

class Line {
  readonly #socket: Socket;
  readonly #options: LineOptions;
  readonly #asked = new Map<number, { resolve: (reply: never) => void; reject: (error: Error) => void }>();
  #last = 0;
  #isSilent = false;

  constructor(socket: Socket, options: LineOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.once('close', () => {
      for (const { reject } of this.#asked.values()) reject(new SupervisorGone('the supervisor is gone'));
      this.#asked.clear();
    });
    readLines(socket, (text) => {
      const message = JSON.parse(text) as Message;
      this.#isSilent = false;
      if ('event' in message) return options.onEvent(message.event, message.dir);
      const asked = this.#asked.get(message.id);
      this.#asked.delete(message.id);
      if ('error' in message) asked?.reject(new Error(`supervisor: ${message.error}`));
      else asked?.resolve(message.reply as never);
    });
  }

  async ask<R extends Request>(request: R): Promise<Replies[R['op']]> {
    if (this.#socket.destroyed) throw new SupervisorGone('the supervisor is gone');
    this.#last += 1;
    const id = this.#last;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise((resolve, reject) => {
        this.#asked.set(id, { resolve, reject });
        // `stop` is answered when its grace is over.
        const ms = this.#options.answerMs + (request.op === 'stop' ? request.graceMs : 0);
        timer = setTimeout(() => reject(this.#silent(request.op)), ms);
        this.#socket.write(`${JSON.stringify({ id, request })}\n`);
      });
    } finally {
      clearTimeout(timer);
      this.#asked.delete(id);
    }
  }

  #silent(op: Request['op']): SupervisorSilent {
    if (!this.#isSilent) this.#options.onSilent(op);
    this.#isSilent = true;
    return new SupervisorSilent(`the supervisor of commands does not answer (${op})`);
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** Through the directory's descriptor: the path of a socket has at most 107 bytes, that of a data directory may have more. */
function reach(directory: string, name: string): Promise<Socket | null> {
  let descriptor: number | null = null;
  try {
    descriptor = process.platform === 'linux' ? openSync(directory, 'r') : null;
  } catch {
    return Promise.resolve(null);
  }
  const path = descriptor === null ? join(directory, name) : `/proc/self/fd/${descriptor}/${name}`;
  return new Promise((resolve) => {
    const socket = connect(path);
    const settle = (result: Socket | null): void => {
      if (descriptor !== null) closeSync(descriptor);
      descriptor = null;
      resolve(result);
    };
    socket.once('connect', () => settle(socket));
    socket.on('error', () => settle(null));
    socket.unref();
  });
}

/** A process of its own, in a session of its own, with nothing of our environment: it outlives us and knows no secret. */
function launch(directory: string, work: string | undefined): void {
  const child = spawn(
    process.execPath,
    [
      '--max-old-space-size=256',
      '--max-semi-space-size=2',
      '--no-warnings',
      PROGRAM,
      directory,
      ...(work === undefined ? [] : [work]),
    ],
    { detached: true, stdio: 'ignore', cwd: directory, env: { PATH: process.env.PATH ?? '' } },
  );
  child.on('error', () => {}); // that it does not come up is noticed
  child.unref();
}
