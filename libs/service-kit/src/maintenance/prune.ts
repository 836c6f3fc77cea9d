import { loadCommandConfig } from '@angelia/config';
import { openEventLog } from '@angelia/event-log';
import { exportTo, type Pruned, pruneSessions } from '@angelia/event-log/admin';

/**
 * What the services do every hour, now. `days` in place of the config's `retention.sessions_days`.
 * @throws StartupError for the config; LogError
 */
export async function pruneNow(options: {
  readonly url: string;
  readonly env: NodeJS.ProcessEnv;
  readonly days?: number;
  readonly signal?: AbortSignal;
}): Promise<Pruned> {
  // Of the config it reads how long, and where exports go: no secret, and none of the variables that they stand in.
  const { config } = loadCommandConfig(options.env);
  const log = openEventLog({
    url: options.url,
    instance: 'angelia-prune',
    holder: `angelia-prune#${process.pid}`,
  });
  try {
    return await pruneSessions({
      log,
      olderThanDays: options.days ?? config.retention.sessions_days,
      ...(options.signal ? { signal: options.signal } : {}),
      ...(config.retention.export ? { beforeDelete: exportTo(config.directories.exports) } : {}),
    });
  } finally {
    await log.close();
  }
}
