import type { CurrentConfig } from '@angelia/config';
import { type SessionId, watchPingSubject } from '@angelia/contracts';
import type { Lists } from '@angelia/event-log';
import type { Logger } from '@angelia/service-kit';
import type { ProcessState } from '@angelia/session';
import type { Loaded, Sessions } from '@angelia/sessions';
import { BackgroundProcesses } from '../background/background-processes.ts';
import { CallsInFlight, type SessionCheck } from '../calls/calls-in-flight.ts';
import { openCalls } from '../calls/tool-call.ts';
import { HostCommands } from '../commands/host-commands.ts';
import type { Isolation } from '../isolation/isolation.ts';
import { type AffinityLog, SessionAffinity } from '../session-affinity.ts';
import type { SessionDirectories } from '../session-directories.ts';
import { Tasks } from '../tasks.ts';
import { SessionUsers } from '../users/session-users.ts';
import type { UserPolicy } from '../users/user-policy.ts';
import { Adoption } from './adoption.ts';
import { Cleanup } from './cleanup.ts';
import { sessionsWithLostProcesses } from './lost-processes.ts';

export const WATCHER = Symbol('WATCHER');

export interface WatcherOptions {
  readonly config: CurrentConfig;
  readonly sessions: Pick<Sessions, 'load' | 'refresh' | 'execute'>;
  readonly log: AffinityLog & { readonly lists: Pick<Lists, 'processes'> };
  readonly directories: SessionDirectories;
  readonly userPolicy: UserPolicy;
  readonly isolation: () => Isolation;
  readonly instance: string;
  readonly logger: Logger;
  /** Tells the other watchers to check a session. */
  readonly ping: (subject: string) => void;
  /** As in `HostCommands`. */
  readonly answerMs?: number | undefined;
  readonly graceMs?: number | undefined;
}

/** How often to check that somebody still waits for the calls in flight: the message about a cancel may get lost. */
const REFRESH_MS = 1_000;
/** Reads one stream per session that has files here. The files are kept for days. */
const TIDY_MS = 3_600_000;
/** How often to check for processes that belong to no command: this reads all of /proc, which takes some 10 ms. */
const STRAYS_MS = 30_000;

/** Carries out the calls that the log asks for, each once, and follows the background processes of this host. */
export class Watcher {
  readonly commands: HostCommands;
  readonly cleanup: Cleanup;
  readonly #options: WatcherOptions;
  readonly #tasks: Tasks;
  readonly #users: SessionUsers;
  readonly #affinity: SessionAffinity;
  readonly #background: BackgroundProcesses;
  readonly #calls: CallsInFlight;
  readonly #adoption: Adoption;
  readonly #killing = new Set<string>();

  constructor(options: WatcherOptions) {
    const { config, directories, isolation, instance, logger, sessions, log } = options;
    const tasks = new Tasks(logger);
    const users = new SessionUsers({ userPolicy: options.userPolicy, directories, logger });
    const affinity = new SessionAffinity({ log, instance, config, logger });
    const commands = new HostCommands({
      directories,
      config,
      users,
      isolation,
      instance,
      logger,
      answerMs: options.answerMs,
      graceMs: options.graceMs,
    });
    const background = new BackgroundProcesses({ config, commands, sessions, logger, signal: tasks.signal });
    this.#options = options;
    this.#tasks = tasks;
    this.#users = users;
    this.#affinity = affinity;
    this.#background = background;
    this.commands = commands;
    this.cleanup = new Cleanup({ config, sessions, directories, commands, users, affinity, tasks });
    this.#calls = new CallsInFlight({
      config,
      sessions,
      directories,
      commands,
      background,
      affinity,
      tasks,
      instance,
      logger,
    });
    this.#adoption = new Adoption({
      sessions,
      directories,
      commands,
      background,
      affinity,
      tasks,
      logger,
      checkSession: (id) => this.checkSession(id),
    });
  }

  /** Begins the periodic work, and adopts what a predecessor left on this host. */
  async start(): Promise<void> {
    this.#affinity.start();
    this.#tasks.every(REFRESH_MS, () => this.#calls.refresh(this.#calls.sessions));
    this.#tasks.every(this.#options.config.current.timing.sweep_seconds * 1000, () => this.checkForLost());
    this.#tasks.every(TIDY_MS, () => this.cleanup.removeOldFiles());
    this.#tasks.every(STRAYS_MS, () => this.cleanup.endStrays());
    this.#users.adopt();
    void this.#tasks.attempt(() => this.#users.collect());
    await this.#adoption.adoptAll();
  }

  /** Resolves when what the log asks for is in flight here, or is another watcher's. Throws what the log throws. */
  checkSession(id: SessionId): Promise<void> {
    return this.#check(id, () => this.#options.ping(watchPingSubject(id)));
  }

  /** For a session of which another watcher says that it is not its own. */
  checkSessionIfOurs(id: SessionId): Promise<void> {
    return this.#check(id, () => {});
  }

  async #check(id: SessionId, tellOthers: () => void): Promise<void> {
    if (this.#tasks.signal.aborted) return;
    const check = this.#calls.beginCheck(id);
    try {
      await this.#takeWork(check, tellOthers);
    } finally {
      this.#calls.endCheck(check);
    }
  }

  async #takeWork(check: SessionCheck, tellOthers: () => void): Promise<void> {
    const { id } = check;
    const loaded = await this.#options.sessions.load(id);
    if (loaded.state.created === null) return;
    const calls = openCalls(loaded).filter(({ callId }) => !this.#calls.has(id, callId));
    const running = loaded.state.processes.filter((process) => process.status === 'running');
    if (calls.length === 0 && running.length === 0) return;
    if (!(await this.#affinity.isOurs(loaded))) return tellOthers();
    for (const process of running) this.#follow(loaded, process);
    for (const call of calls) if (!(await this.#calls.take(check, loaded, call))) tellOthers();
  }

  /** If the process's host is gone for good, its files are not here: then it is lost, and is recorded as lost. */
  #follow({ id }: Loaded, { processId, killRequested }: ProcessState): void {
    this.#background.track(id, processId);
    if (!killRequested || this.#killing.has(processId)) return;
    this.#killing.add(processId);
    this.#tasks.run(this.#kill(id, processId).finally(() => this.#killing.delete(processId)));
  }

  async #kill(id: SessionId, processId: string): Promise<void> {
    const survivors = await this.commands.stop(id, processId);
    if (survivors.length === 0) return;
    this.#options.logger.warn(
      { session_id: id, process_id: processId, survivors },
      'some processes survived the kill',
    );
  }

  /** Looks at every session with a process that is recorded as running and that nobody follows. */
  async checkForLost(): Promise<void> {
    const sessions = await sessionsWithLostProcesses({
      lists: this.#options.log.lists,
      affinity: this.#affinity,
      instance: this.#options.instance,
      background: this.#background,
    });
    await this.#tasks.forEach(sessions, (id) => this.checkSession(id), 'checked');
  }

  /** A message says that the session was cancelled. Only the event in the log counts. */
  async cancelled(id: SessionId): Promise<void> {
    await this.#calls.refresh([id]);
  }

  /** How many sessions have calls in flight. */
  get sessionsInFlight(): number {
    return this.#calls.sessions.length;
  }

  /** Stops looking and waiting. Commands keep running; the next watcher records their results. */
  async close(): Promise<void> {
    this.#tasks.stop();
    this.#affinity.stop();
    await Promise.allSettled([this.#tasks.settled(), this.#background.stopped()]);
    this.commands.close();
  }
}
