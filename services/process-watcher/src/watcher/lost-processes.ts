import { type SessionId, sessionId } from '@angelia/contracts';
import type { ListedProcess, Lists, Page } from '@angelia/event-log';
import type { BackgroundProcesses } from '../background/background-processes.ts';
import type { SessionAffinity } from '../session-affinity.ts';

const PAGE_SIZE = 500;

/**
 * The sessions with a process that is recorded as running and that nobody follows: its watcher is gone for good, or it
 * is ours and its files were taken away.
 */
export async function sessionsWithLostProcesses(deps: {
  readonly lists: Pick<Lists, 'processes'>;
  readonly affinity: Pick<SessionAffinity, 'isAlive'>;
  readonly instance: string;
  readonly background: Pick<BackgroundProcesses, 'isTracked'>;
}): Promise<SessionId[]> {
  const alive = new Map<string, boolean>();
  const isAlive = async (watcher: string): Promise<boolean> => {
    const known = alive.get(watcher) ?? (await deps.affinity.isAlive(watcher));
    alive.set(watcher, known);
    return known;
  };
  const sessions = new Set<SessionId>();
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Page<ListedProcess> = await deps.lists.processes({
      status: 'running',
      limit: PAGE_SIZE,
      ...(cursor === undefined ? {} : { cursor }),
    });
    cursor = page.nextCursor;
    for (const { sessionId: id, processId, detail } of page.items) {
      if (deps.background.isTracked(processId)) continue;
      const owner = (detail as { readonly watcher?: string | null } | null)?.watcher ?? null;
      if (owner !== null && owner !== deps.instance && (await isAlive(owner))) continue;
      sessions.add(sessionId(id));
    }
  }
  return [...sessions];
}
