import { open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { signalOne } from './process-identity.ts';
import {
  type Replies,
  type Request,
  START_MARKER_FILE,
  type StartMarker,
  type StartReply,
  type StartRequest,
} from './protocol.ts';
import { type LimitedSession, pidsOf, SessionMemory } from './session-memory.ts';
import { SupervisedCommand } from './supervised-command.ts';
import { endProcessesOf } from './user-processes.ts';
import { syncDirectory } from './write-file-whole.ts';

/** The commands of one supervisor, by their directory. */
export class Supervisor {
  readonly #commands = new Map<string, SupervisedCommand>();
  readonly #starting = new Map<string, Promise<StartReply>>();
  readonly #directory: string;
  readonly #tell: (event: 'ended' | 'matched', dir: string) => void;
  readonly #memory = new SessionMemory(
    () => this.#limitedSessions(),
    (session) => this.#endSession(session),
  );
  /** Sessions whose commands are being ended because they used too much memory. */
  readonly #ending = new Map<string, Promise<void>>();

  /** `directory`: where watchers that find its commands later can reach it. */
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

  /** For commands whose files are gone: nobody can ask for them any more. */
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
      if (!(await this.#markStarted(request.dir))) return { status: 'begun_earlier' };
    } catch (error) {
      // The disk is full. The command was not started, so remove its start marker.
      await rm(join(request.dir, START_MARKER_FILE), { force: true });
      return { status: 'failed', reason: (error as Error).message.split(',')[0] ?? '' };
    }
    // A command that started now would be ended with the others, without a recorded reason.
    await this.#ending.get(request.session);
    const command = new SupervisedCommand(request, {
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
      // The newest has the current limit: the config may have changed since the first one began.
      const newest = commands.at(-1);
      if (newest === undefined) return [];
      const { session, sessionMemoryBytes, ownUser, user } = newest;
      return [{ id: session, limitBytes: sessionMemoryBytes, ownUser, user, commands }];
    });
  }

  /** Without a grace: a command that allocates this fast would use it to allocate more. */
  #endSession(session: LimitedSession): void {
    if (this.#ending.has(session.id)) return;
    const commands = [...this.#commands.values()].filter((command) => command.session === session.id);
    const ending = async (): Promise<void> => {
      // Before their parents are gone: a process that left its group and its mark is known by its parent alone.
      const pids = session.ownUser === null ? pidsOf(session) : [];
      // This also notes the reason before the command can end.
      const stopped = commands.map((command) => command.stop('memory', 0));
      for (const pid of pids) signalOne(pid, 'SIGKILL');
      if (session.ownUser !== null) await endProcessesOf(session.ownUser);
      await Promise.all(stopped);
    };
    // If it fails (no file descriptor is left to read /proc with), the next check tries again.
    const ended = ending().catch(() => {});
    this.#ending.set(session.id, ended);
    void ended.finally(() => this.#ending.delete(session.id));
  }

  /**
   * Durably marks the command as started before it starts: whatever crashes from here on, nobody starts it a second time
   * (C14). False if it was marked before.
   */
  async #markStarted(dir: string): Promise<boolean> {
    const record: StartMarker = { at: new Date().toISOString(), supervisor: this.#directory };
    try {
      const file = await open(join(dir, START_MARKER_FILE), 'wx', 0o600);
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
