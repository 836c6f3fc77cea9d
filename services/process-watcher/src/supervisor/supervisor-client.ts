import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AngeliaError } from '@angelia/contracts';
import type { Logger } from '@angelia/service-kit';
import { LATE, pause, within } from '@angelia/waiting';
import {
  type Message,
  type Replies,
  type Request,
  readLines,
  SOCKET_NAME,
  type StartRequest,
} from './protocol.ts';

/** Thrown for a request that got no answer because the supervisor is gone. The files say whether it was carried out. */
class SupervisorGone extends AngeliaError {
  override readonly name = 'SupervisorGone';
  readonly code = 'supervisor_gone';
  readonly retryable = true;
}

/**
 * Thrown for a request that got no answer in time: the supervisor is there but hangs (it is stopped, or its disk does not
 * respond). It may still carry out the request. Ask again: it answers once it continues.
 */
export class SupervisorSilent extends AngeliaError {
  override readonly name = 'SupervisorSilent';
  readonly code = 'supervisor_silent';
  readonly retryable = true;
}

/**
 * An answer takes a millisecond, or some hundred if a file has to be synced on a busy disk. If this is too long, the
 * warning comes late. If it is too short, the warning is wrong and the request is made twice.
 */
const ANSWER_MS = 15_000;

/** Enough for a Node process to start on a busy machine. */
const START_MS = 15_000;
const START_LOOK_MS = 25;

/** The supervisor's source, beside this file in tests; otherwise its bundle (deploy/local/build.mjs). */
const PROGRAM = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './main.ts' : '../../../supervisor.js', import.meta.url),
);

/** Connections to the supervisors that this watcher needs: its own, and those that have commands of a predecessor. */
export class SupervisorClient {
  readonly #own: string;
  readonly #work: string | undefined;
  readonly #logger: Logger;
  readonly #onEvent: (event: 'ended' | 'matched', dir: string) => void;
  readonly #answerMs: number;
  /** By the path of the socket. */
  readonly #connections = new Map<string, Promise<Connection>>();
  #closed = false;

  /** `own`: the directory of the supervisor that new commands start under. */
  constructor(options: {
    readonly own: string;
    /** Where the sessions' files are, if not beside it. */
    readonly work: string | undefined;
    readonly logger: Logger;
    readonly onEvent: (event: 'ended' | 'matched', dir: string) => void;
    /** Default: ANSWER_MS. */
    readonly answerMs?: number | undefined;
  }) {
    this.#answerMs = options.answerMs ?? ANSWER_MS;
    this.#own = options.own;
    this.#work = options.work;
    this.#logger = options.logger;
    this.#onEvent = options.onEvent;
  }

  /** Asks this watcher's own supervisor, and starts one if there is none. @throws SupervisorGone, SupervisorSilent */
  async ask<R extends Request>(request: R): Promise<Replies[R['op']]> {
    return (await this.#connection(this.#own, true)).ask(request);
  }

  /**
   * Asks the supervisor in this directory that has the command: after an upgrade the earlier one keeps running beside
   * ours. Null if ours is not there (any more) and no other one has the command. @throws SupervisorSilent
   */
  async askAt<R extends Exclude<Request, StartRequest>>(
    directory: string,
    request: R,
  ): Promise<Replies[R['op']] | null> {
    const ours = await this.#askSocket(directory, SOCKET_NAME, request);
    if (ours !== null && isKnown(ours)) return ours;
    for (const name of otherSockets(directory)) {
      const reply = await this.#askSocket(directory, name, request);
      if (reply !== null && isKnown(reply)) return reply;
    }
    return ours;
  }

  async #askSocket<R extends Request>(
    directory: string,
    name: string,
    request: R,
  ): Promise<Replies[R['op']] | null> {
    try {
      return await (await this.#connection(directory, false, name)).ask(request);
    } catch (error) {
      if (error instanceof SupervisorGone) return null;
      throw error;
    }
  }

  /** The supervisors keep running. */
  close(): void {
    this.#closed = true;
    for (const connection of this.#connections.values()) {
      connection.then(
        (open) => open.close(),
        () => {},
      );
    }
  }

  #connection(directory: string, start: boolean, name = SOCKET_NAME): Promise<Connection> {
    if (this.#closed) return Promise.reject(new SupervisorGone('this watcher is shutting down'));
    const path = join(directory, name);
    const known = this.#connections.get(path);
    if (known !== undefined) return known;
    const connection = this.#open(directory, name, start);
    this.#connections.set(path, connection);
    connection.catch(() => this.#drop(path, connection));
    return connection;
  }

  async #open(directory: string, name: string, start: boolean): Promise<Connection> {
    const path = join(directory, name);
    let socket = await reach(directory, name);
    if (socket === null) {
      if (!start) throw new SupervisorGone('this supervisor is gone');
      launch(directory, this.#work);
      for (const until = performance.now() + START_MS; socket === null; ) {
        if (performance.now() > until) throw new SupervisorGone('the supervisor of commands does not start');
        await pause(START_LOOK_MS);
        socket = await reach(directory, name);
      }
      this.#logger.info({}, 'started a supervisor of commands');
    }
    const open = new Connection(socket, {
      onEvent: this.#onEvent,
      answerMs: this.#answerMs,
      onSilent: (op) => this.#logger.warn({ op }, 'the supervisor of commands does not answer'),
    });
    const connection = this.#connections.get(path);
    socket.once('close', () => connection && this.#drop(path, connection));
    return open;
  }

  #drop(path: string, connection: Promise<Connection>): void {
    if (this.#connections.get(path) === connection) this.#connections.delete(path);
  }
}

function isKnown(reply: Replies['has' | 'stop' | 'write']): boolean {
  return 'known' in reply ? reply.known : reply.status !== 'unknown';
}

/** The sockets of supervisors of other versions. */
function otherSockets(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => SOCKET.test(name) && name !== SOCKET_NAME);
  } catch {
    return []; // The directory is gone.
  }
}

const SOCKET = /^supervisor-\d+\.sock$/;

interface ConnectionOptions {
  readonly onEvent: (event: 'ended' | 'matched', dir: string) => void;
  readonly answerMs: number;
  /** Called for the first request that is not answered in time since the last one that was. */
  readonly onSilent: (op: Request['op']) => void;
}

class Connection {
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #asked = new Map<number, { resolve: (reply: never) => void; reject: (error: Error) => void }>();
  #last = 0;
  #isSilent = false;

  constructor(socket: Socket, options: ConnectionOptions) {
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
    // `stop` is answered when its grace is over.
    const ms = this.#options.answerMs + (request.op === 'stop' ? request.graceMs : 0);
    const answered = new Promise<Replies[R['op']]>((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
      this.#socket.write(`${JSON.stringify({ id, request })}\n`);
    });
    try {
      const reply = await within(ms, answered);
      if (reply === LATE) throw this.#silent(request.op);
      return reply;
    } finally {
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

/**
 * Connects through the directory's descriptor: the path of a socket has at most 107 bytes, and that of a data directory
 * may have more. Null if nobody listens there.
 */
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

/** Starts a process in a session of its own, without our environment: it outlives us and knows no secret. */
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
  child.on('error', () => {}); // The caller notices that it does not come up.
  child.unref();
}
