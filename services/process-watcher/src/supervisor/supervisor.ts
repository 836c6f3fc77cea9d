import { open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { signalOne } from './process-identity.ts';
import {
  BEGUN_FILE,
  type BegunRecord,
  type Replies,
  type Request,
  type StartReply,
  type StartRequest,
} from './protocol.ts';
import { type LimitedSession, pidsOf, SessionMemory } from './session-memory.ts';
import { Command } from './supervised-command.ts';
import { endProcessesOf } from './user-processes.ts';
import { syncDirectory } from './write-file-whole.ts';

/** The commands of one supervisor, by their directory. */
export class Supervisor {
  readonly #commands = new Map<string, Command>();
  readonly #starting = new Map<string, Promise<StartReply>>();
  readonly #directory: string;
  readonly #tell: (event: 'ended' | 'matched', dir: string) => void;
  readonly #memory = new SessionMemory(
    () => this.#limitedSessions(),
    (session) => this.#endSession(session),
  );
  /** Sessions whose commands are being ended, as they had too much memory. */
  readonly #ending = new Map<string, Promise<void>>();

  /** `directory`: where it can be reached, for whoever finds its commands later. */
  constructor(directory: string, tell: (event: 'ended' | 'matched', dir: string) => void) {
    this.#directory = directory;
    this.#tell = tell;
  }

  get size(): number {
    return this.#commands.size + this.#starting.size;
  }

  async answer(request: Request): Promise<Replies[Request['op']]> {
    switch (request.op) {
      case 'start':
        return this.#start(request);
      case 'stop': {
        const command = this.#commands.get(request.dir);
        if (command === undefined) return { known: false, survivors: [] };
        return { known: true, survivors: await command.stop('stopped', request.graceMs) };
      }
      case 'write': {
        const command = this.#commands.get(request.dir);
        if (command === undefined) return { status: 'unknown' };
        return { status: command.write(request.data, request.end) };
      }
      case 'has':
        return { known: this.#commands.has(request.dir) || this.#starting.has(request.dir) };
    }
  }

  /** Their files are gone, and so is whoever could ask for them. */
  async stopAll(): Promise<void> {
    const commands = [...this.#commands.values()];
    const users = new Set(commands.flatMap(({ ownUser }) => ownUser ?? []));
    await Promise.all([...users].map((uid) => endProcessesOf(uid)));
    await Promise.all(commands.map((command) => command.stop('stopped', 0)));
  }

  #start(request: StartRequest): Promise<StartReply> {
    const { dir } = request;
    const known = this.#commands.get(dir)?.identity;
    if (known) return Promise.resolve({ status: 'started', identity: known });
    const starting = this.#starting.get(dir) ?? this.#startOnce(request);
    this.#starting.set(dir, starting);
    return starting.finally(() => this.#starting.delete(dir));
  }

  async #startOnce(request: StartRequest): Promise<StartReply> {
    try {
      if (!(await this.#begin(request.dir))) return { status: 'begun_earlier' };
    } catch (error) {
      // A full disk. It was not begun, and the mark must not say so.
      await rm(join(request.dir, BEGUN_FILE), { force: true });
      return { status: 'failed', reason: (error as Error).message.split(',')[0] ?? '' };
    }
    // Started now it would be ended with the others, without the reason.
    await this.#ending.get(request.session);
    const command = new Command(request, {
      ended: () => this.#tell('ended', request.dir),
      matched: () => this.#tell('matched', request.dir),
      over: () => this.#commands.delete(request.dir),
    });
    this.#commands.set(request.dir, command);
    this.#memory.watch();
    try {
      return { status: 'started', identity: await command.start() };
    } catch (error) {
      if (command.identity !== null) return { status: 'started', identity: command.identity };
      this.#commands.delete(request.dir);
      return { status: 'failed', reason: (error as Error).message };
    }
  }

  #limitedSessions(): LimitedSession[] {
    const limited = [...this.#commands.values()].filter(
      ({ identity, sessionMemoryBytes }) => identity !== null && sessionMemoryBytes > 0,
    );
    return [...Map.groupBy(limited, ({ session }) => session).values()].flatMap((commands) => {
      // The config may have changed since the first of them began.
      const newest = commands.at(-1);
      if (newest === undefined) return [];
      const { session, sessionMemoryBytes, ownUser, user } = newest;
      return [{ id: session, limitBytes: sessionMemoryBytes, ownUser, user, commands }];
    });
  }

  /** At once: what takes memory so fast would use a grace to take more. */
  #endSession(session: LimitedSession): void {
    if (this.#ending.has(session.id)) return;
    const commands = [...this.#commands.values()].filter((command) => command.session === session.id);
    const ending = async (): Promise<void> => {
      // While whoever started them is there: one that left its group and its mark behind is known by that alone.
      const pids = session.ownUser === null ? pidsOf(session) : [];
      // It also notes the reason for the end, before that can come.
      const stopped = commands.map((command) => command.stop('memory', 0));
      for (const pid of pids) signalOne(pid, 'SIGKILL');
      if (session.ownUser !== null) await endProcessesOf(session.ownUser);
      await Promise.all(stopped);
    };
    // What of it failed (no descriptor is left to read /proc with) is done at the next look.
    const ended = ending().catch(() => {});
    this.#ending.set(session.id, ended);
    void ended.finally(() => this.#ending.delete(session.id));
  }

  /**
   * Marks the command as begun, durably, before it is: whatever dies from here on, nobody starts it a second time (C14).
   * False: it was begun before.
   */
  async #begin(dir: string): Promise<boolean> {
    const record: BegunRecord = { at: new Date().toISOString(), supervisor: this.#directory };
    try {
      const file = await open(join(dir, BEGUN_FILE), 'wx', 0o600);
      try {
        await file.writeFile(JSON.stringify(record));
        await file.sync();
      } finally {
        await file.close();
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    }
    await syncDirectory(dir);
    await syncDirectory(dirname(dir));
    return true;
  }
}
