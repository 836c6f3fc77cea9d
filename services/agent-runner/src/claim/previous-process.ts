import { type HolderId, instanceOf, runResource, type SessionId, sessionId } from '@angelia/contracts';
import type { Leases } from '@angelia/event-log';
import type { Logger } from '@angelia/service-kit';
import { pause } from '@angelia/waiting';

/** Postgres may start after the services do. */
const TRY_AGAIN_MS = 1_000;

/**
 * A runner that restarts under its stable name knows that its previous process is dead. It frees that process's leases
 * at once and looks at their sessions, so that their users need not wait until the leases expire.
 */
export async function resumeRunsOfPreviousProcess(options: {
  readonly log: { readonly leases: Pick<Leases, 'freeOf'> };
  readonly holder: HolderId;
  readonly logger: Logger;
  readonly checkSession: (id: SessionId) => Promise<void>;
  readonly draining: () => boolean;
}): Promise<void> {
  const { log, holder, logger, checkSession, draining } = options;
  while (!draining()) {
    try {
      const freed = await log.leases.freeOf(instanceOf(holder), holder);
      const sessions = freed.filter(isRun).map((resource) => sessionId(resource.slice(PREFIX.length)));
      if (sessions.length > 0)
        logger.info({ sessions: sessions.length }, 'freed the leases of the previous process');
      for (const id of sessions) await checkSession(id);
      return;
    } catch (error) {
      // Postgres is away or not migrated yet. The sweep finds sessions that were freed and not looked at.
      logger.debug({ err: error }, 'leases of the previous process not freed yet; will try again');
      await pause(TRY_AGAIN_MS);
    }
  }
}

const PREFIX = runResource('');
const isRun = (resource: string): boolean => resource.startsWith(PREFIX);
