import { loadCommandConfig, withCommandEnvFile } from '@angelia/config';
import { openEventLog } from '@angelia/event-log';
import { exportTo, type Pruned, pruneSessions } from '@angelia/event-log/admin';

/**
 * Prunes now what the services prune every hour. `days` replaces the config's `retention.sessions_days`.
 * @throws StartupError if the config is wrong; LogError
 */
export async function pruneNow(options: {
  readonly url: string;
  readonly env: NodeJS.ProcessEnv;
  readonly days?: number;
  readonly signal?: AbortSignal;
}): Promise<Pruned> {
  // It needs the retention and the directory of exports: no secret, and no variable that holds one.
  const { config } = loadCommandConfig(withCommandEnvFile(options.env));
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
