import { rebuildViews } from '@angelia/event-log/admin';
import type { TestDatabase } from '@angelia/event-log/testing';
import { projectSession } from '@angelia/session';
import { eventually } from '@angelia/testkit';

/**
 * Rebuilds the views until they show the whole log. One rebuild may not be enough: an open transaction anywhere in the
 * cluster, even in another test file, hides the end of the tail.
 */
export function viewsUpToDate(database: TestDatabase): Promise<unknown> {
  return eventually(
    async () => {
      await rebuildViews({ url: database.url, project: projectSession });
      const behind = await database.query(
        `SELECT FROM angelia.events e LEFT JOIN angelia.sessions s ON s.session_id = e.stream_id
         WHERE e.stream_id ~ '^[0-9a-f]{8}-' AND (s.version IS NULL OR s.version < e.version) LIMIT 1`,
      );
      return behind.length === 0;
    },
    { describe: 'the views show all of the log' },
  );
}
