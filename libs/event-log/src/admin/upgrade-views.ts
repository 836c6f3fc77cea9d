import { pause } from '@angelia/waiting';
import { messageOf } from '../connection/postgres-errors.ts';
import { queries } from '../connection/query-builder.ts';
import { VIEWS_VERSION } from '../connection/schema.ts';
import type { EventLog } from '../event-log.ts';
import type { ProjectSession } from '../views/session-views.ts';
import { rebuildViews } from './rebuild.ts';

interface UpgradeOptions {
  readonly log: EventLog;
  readonly project: ProjectSession;
  readonly signal: AbortSignal;
}

const CHECK_MS = 60_000;
/** The leader shares its event loop with other loops and with a service. Half of its time is left to them. */
const SHARE = 0.5;

const ACTIVE = queries
  .selectFrom('angelia.view_builds')
  .select(['build', 'version'])
  .where((where) => where.ref('active'));

/**
 * Rebuilds views that an earlier version made, beside the old ones and while the services work. Runs while this process
 * leads. Whatever interrupts it, the next leader begins again.
 */
export async function upgradeViews({ log, project, signal }: UpgradeOptions): Promise<void> {
  while (!signal.aborted) {
    try {
      const active = (await log.database.relaxed.run(ACTIVE))[0];
      if (active !== undefined && active.version < VIEWS_VERSION) {
        log.logger.info(
          { from: active.version, to: VIEWS_VERSION },
          'an earlier version made the views: rebuilding them beside the old ones',
        );
        const rebuilt = await rebuildViews({ url: log.database.url, project, signal, share: SHARE });
        log.logger.info({ ...rebuilt }, 'the views are rebuilt');
      }
    } catch (error) {
      if (!signal.aborted)
        log.logger.warn({ err: messageOf(error) }, 'rebuilding the views failed; will try again');
    }
    await pause(CHECK_MS, signal);
  }
}
