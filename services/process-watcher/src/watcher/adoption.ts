import type { SessionId } from '@angelia/contracts';
import type { Logger } from '@angelia/service-kit';
import type { Sessions } from '@angelia/sessions';
import { pause } from '@angelia/waiting';
import type { BackgroundProcesses } from '../background/background-processes.ts';
import { openCalls } from '../calls/tool-call.ts';
import type { HostCommands } from '../commands/host-commands.ts';
import type { SessionAffinity } from '../session-affinity.ts';
import {
  foregroundName,
  processIdOf,
  type SessionDirectories,
  takenCallName,
} from '../session-directories.ts';
import type { Tasks } from '../tasks.ts';

/** After a restart Postgres is back in a moment. What stays broken is not worth more than a log line a minute. */
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 60_000;

/** A session that has commands on this host, and their names. */
type Unsettled = readonly [id: SessionId, names: readonly string[]];

interface AdoptionDeps {
  readonly sessions: Pick<Sessions, 'load'>;
  readonly directories: SessionDirectories;
  readonly commands: HostCommands;
  readonly background: BackgroundProcesses;
  readonly affinity: SessionAffinity;
  readonly tasks: Tasks;
  readonly logger: Logger;
  readonly checkSession: (id: SessionId) => Promise<void>;
}

/** At a start: continues what a predecessor left on this host, and ends what nobody can ask for any more. */
export class Adoption {
  readonly #deps: AdoptionDeps;

  constructor(deps: AdoptionDeps) {
    this.#deps = deps;
  }

  /** Resolves after one try for each session. Sessions that fail are tried again in the background. */
  async adoptAll(): Promise<void> {
    const { directories, tasks, logger } = this.#deps;
    const found = directories.unsettled();
    if (found.length > 0) logger.info({ commands: found.length }, 'adopting the commands on this host');
    const sessions = Map.groupBy(found, ({ sessionId }) => sessionId);
    const failed = await this.#tryAll(
      [...sessions].map(([id, commands]) => [id, commands.map(({ name }) => name)]),
    );
    if (failed.length > 0) tasks.run(this.#retry(failed));
  }

  /** One try each. Returns those that could not be adopted. */
  #tryAll(sessions: readonly Unsettled[]): Promise<Unsettled[]> {
    return this.#deps.tasks.forEach(sessions, ([id, names]) => this.#adopt(id, names), 'adopted; will retry');
  }

  async #retry(sessions: readonly Unsettled[]): Promise<void> {
    const { signal } = this.#deps.tasks;
    let left = sessions;
    for (let wait = FIRST_RETRY_MS; left.length > 0; wait = Math.min(wait * 2, LONGEST_RETRY_MS)) {
      await pause(wait, signal);
      if (signal.aborted) return;
      left = await this.#tryAll(left);
    }
  }

  async #adopt(id: SessionId, names: readonly string[]): Promise<void> {
    const { sessions, affinity, commands, background, checkSession } = this.#deps;
    const loaded = await sessions.load(id);
    if (!(await affinity.isOurs(loaded))) return;
    const { processes } = loaded.state;
    const wanted = new Set([
      ...openCalls(loaded).flatMap(({ callId }) => [
        takenCallName(callId),
        foregroundName(callId),
        processIdOf(id, callId),
      ]),
      ...processes.filter(({ status }) => status === 'running').map(({ processId }) => processId),
    ]);
    for (const name of names.filter((one) => !wanted.has(one))) {
      // Either its end is in the log already, or its call was closed while no watcher was there to end it.
      if (processes.some(({ processId }) => processId === name)) commands.markSettled(id, name);
      else await background.abandon(id, name);
    }
    await checkSession(id);
  }
}
