import { setTimeout as pause } from 'node:timers/promises';
import { type HolderId, instanceOf, runResource, type SessionId, sessionId } from '@angelia/contracts';
import type { Leases } from '@angelia/event-log';
import type { Logger } from '@angelia/service-kit';

/** Postgres may start after the services do. */
const TRY_AGAIN_MS = 1_000;

/**
 * A runner that starts again under its stable name knows that its predecessor is dead: it frees at once what that one
 * held, and looks at those sessions, instead of letting their users wait until the leases are over.
 */
export async function takeUpFromPredecessor(options: {
  readonly log: { readonly leases: Pick<Leases, 'freeOf'> };
  readonly holder: HolderId;
  readonly logger: Logger;
  readonly look: (id: SessionId) => Promise<void>;
  readonly draining: () => boolean;
}): Promise<void> {
  const { log, holder, logger, look, draining } = options;
  while (!draining()) {
    try {
      const freed = await log.leases.freeOf(instanceOf(holder), holder);
      const sessions = freed.filter(isRun).map((resource) => sessionId(resource.slice(PREFIX.length)));
      if (sessions.length > 0) logger.info({ sessions: sessions.length }, 'freed what my predecessor held');
      for (const id of sessions) await look(id);
      return;
    } catch (error) {
      // Not migrated yet, or away. What was freed and not looked at is found by the sweep.
      logger.debug({ err: error }, 'the predecessor’s leases could not be freed yet');
      await pause(TRY_AGAIN_MS, undefined, { ref: false });
    }
  }
}

const PREFIX = runResource('');
const isRun = (resource: string): boolean => resource.startsWith(PREFIX);
