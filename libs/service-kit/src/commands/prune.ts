import { exportTo, openEventLog, pruneSessions, runCommand } from '@angelia/event-log';
import { loadConfig } from '../config/load.ts';

/** `prune [days]`: what the services do every hour, now. `days` in place of the config's `retention.sessions_days`. */
await runCommand('prune', async (url) => {
  const { config } = loadConfig(process.env);
  const days = process.argv[2] === undefined ? config.retention.sessions_days : Number(process.argv[2]);
  if (!(days > 0)) throw new Error(`${process.argv[2]} is no number of days`);
  const log = openEventLog({ url, instance: 'angelia-prune', holder: `angelia-prune#${process.pid}` });
  try {
    const { sessions, keys } = await pruneSessions({
      log,
      olderThanDays: days,
      ...(config.retention.export ? { beforeDelete: exportTo(config.directories.exports) } : {}),
    });
    return [`pruned ${sessions} sessions and ${keys} keys`];
  } finally {
    await log.close();
  }
});
