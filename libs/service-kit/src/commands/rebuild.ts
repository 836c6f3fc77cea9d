import { runCommand } from '@angelia/event-log/admin';
import { rebuildNow } from '../maintenance/rebuild-now.ts';

/** `rebuild`; people use `angelia rebuild`. */
await runCommand('rebuild', async (url) => {
  const { build, events } = await rebuildNow(url);
  return [`the views are rebuilt from ${events} events (build ${build})`];
});
