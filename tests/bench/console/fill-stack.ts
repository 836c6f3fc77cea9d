import { join } from 'node:path';
import { rebuildNow } from '@angelia/service-kit/maintenance';
import { eventsOf, fillLog } from '../cost/fill.ts';
import { openLongLog } from '../cost/long-log.ts';
import { passAllReaders } from '../cost/prune.ts';
import { recordTemplate } from '../cost/template.ts';

/** The data directory of a stack that ran and is stopped, with that many ended sessions. Nothing in it is left to be done. */
export async function fillStack(home: string, sessions: number): Promise<string> {
  const template = await recordTemplate(home);
  const dataDir = join(home, 'template');
  const long = await openLongLog(dataDir);
  try {
    await fillLog(long, template, { events: eventsOf(template, sessions), open: 0 });
    await rebuildNow(long.url);
    await passAllReaders(long);
    // As autovacuum does soon after so many new rows.
    await long.query('VACUUM (ANALYZE)');
  } finally {
    await long.close();
  }
  return dataDir;
}
