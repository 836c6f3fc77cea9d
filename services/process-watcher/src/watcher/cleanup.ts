import type { CurrentConfig } from '@angelia/config';
import type { SessionId } from '@angelia/contracts';
import type { Sessions } from '@angelia/sessions';
import type { HostCommands } from '../commands/host-commands.ts';
import type { SessionAffinity } from '../session-affinity.ts';
import type { SessionDirectories } from '../session-directories.ts';
import type { Tasks } from '../tasks.ts';
import type { SessionUsers } from '../users/session-users.ts';

interface CleanupDeps {
  readonly config: CurrentConfig;
  readonly sessions: Pick<Sessions, 'load'>;
  readonly directories: SessionDirectories;
  readonly commands: HostCommands;
  readonly users: SessionUsers;
  readonly affinity: SessionAffinity;
  readonly tasks: Tasks;
}

/** Removes what sessions leave on this host: files, processes and users. */
export class Cleanup {
  readonly #deps: CleanupDeps;

  constructor(deps: CleanupDeps) {
    this.#deps = deps;
  }

  /** Removes the files of sessions that ended more than `keep_hours` ago. */
  async removeOldFiles(now = Date.now()): Promise<void> {
    const { directories, sessions, commands, config, tasks, users } = this.#deps;
    const keepMs = config.current.process_watcher.keep_hours * 3_600_000;
    const busy = new Set(directories.unsettled().map((command) => command.sessionId));
    const removeIfOld = async (id: SessionId): Promise<void> => {
      const { state } = await sessions.load(id);
      // A session that the log does not know was pruned, or does not exist yet.
      const since = state.created === null ? directories.changedAt(id) : state.lastActivityAt;
      const isOver = state.created === null || state.ended !== null;
      if (isOver && now - since > keepMs) await commands.forgetSession(id);
    };
    const idle = directories.sessions().filter((id) => !busy.has(id));
    await tasks.forEach(idle, removeIfOld, 'tidied up');
    await users.collect();
  }

  /** Ends stray processes: those of sessions that have no command left, and of sessions that are gone. */
  async endStrays(): Promise<void> {
    const { sessions, affinity, commands, directories, tasks, users } = this.#deps;
    const endStraysOf = async (id: SessionId): Promise<void> => {
      // The first session of a conversation may be pruned while the conversation goes on.
      const all = await Promise.all(directories.sessionsAt(id).map((one) => sessions.load(one)));
      const known = all.filter(({ state }) => state.created !== null);
      if (known.length === 0) {
        await users.end(id);
        return;
      }
      for (const loaded of known) if (!(await affinity.isOurs(loaded))) return;
      await commands.endStrays(id);
    };
    await tasks.forEach(users.busy(), endStraysOf, 'searched for stray processes');
  }

  /** A message says that the session was erased. It counts only if the log does not know the session any more. */
  async removeErased(id: SessionId): Promise<void> {
    const { directories, sessions, commands, users } = this.#deps;
    if (!directories.sessions().includes(id)) return;
    if ((await sessions.load(id)).state.created !== null) return;
    const place = directories.placeOf(id);
    // The directory of a conversation stays.
    await commands.removeReceived(id);
    await commands.forgetSession(id);
    // The first session of its conversation was erased before, and this was the last one that used its files.
    const isLast = place !== id && directories.sessionsAt(place).length === 1;
    if (isLast && (await sessions.load(place)).state.created === null) await commands.forgetSession(place);
    await users.collect();
  }
}
